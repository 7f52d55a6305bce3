import { expect, test } from '@jest/globals';
import request from 'supertest';
import {
  AUTHORIZATION,
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
  signInAndAllow,
} from '../../support/local-service/cookie-browser.ts';
import {
  SHOWS_SIGN_IN_PAGE,
  SHOWS_ERROR_PAGE,
  authorizationOutcome,
  redirectsWithError,
} from '../../support/local-service/expectations.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { CALLBACK } from '../../support/local-service/requests.ts';

const WITH_QUERY = `${CALLBACK}?tenant=a%20b`;
const url = authorizationUrl();

const { service } = useLocalService({ redirectUris: [CALLBACK, WITH_QUERY] });

/** Resolves with the outcome of an otherwise valid request with these parameters. */
const outcomeWith = (overrides: Record<string, string | undefined>) =>
  authorizationOutcome(service, authorizationUrl(overrides));

test('4.1 method and path: `GET /api/public/v1/authorization/oauth2/`', async () => {
  expect(AUTHORIZATION).toBe('/api/public/v1/authorization/oauth2/');
  expect(await authorizationOutcome(service, url)).toEqual(SHOWS_SIGN_IN_PAGE);
  for (const method of ['put', 'patch', 'delete'] as const) {
    const { status, headers } = await request(service)[method](url);
    expect({ status, allow: headers['allow'] }).toEqual({ status: 405, allow: 'GET, HEAD, POST' });
  }
  for (const path of ['oauth2', 'OAuth2/', 'oauth2//']) {
    expect((await request(service).get(url.replace('oauth2/', path))).status).toBe(404);
  }
});

test('4.1 browser redirect: works for a browser redirected by an app on another site', async () => {
  const crossSite = { referer: 'http://localhost:3000/', 'sec-fetch-site': 'cross-site' };
  const arrive = (cookie: string) =>
    request(service)
      .get(url)
      .set({ ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', cookie });
  expect((await arrive('')).text).toContain('type="password"');

  const browser = openBrowser(service);
  await signInAndAllow(browser);
  const sentAlong = await browser.jar.getCookieString(`http://127.0.0.1${AUTHORIZATION}`, {
    sameSiteContext: 'lax',
  });
  expect((await arrive(sentAlong)).text).toContain('value="allow"');
});

test('4.1 client_id: required; must match the registered app', async () => {
  expect(await outcomeWith({ client_id: 'demo-app' })).toEqual(SHOWS_SIGN_IN_PAGE);
  for (const client_id of [undefined, '', 'other-app', 'Demo-App', 'demo-app ']) {
    expect(await outcomeWith({ client_id })).toEqual(SHOWS_ERROR_PAGE);
  }
});

test('4.1 redirect_uri: required; must equal a registered URL', async () => {
  expect(await outcomeWith({ redirect_uri: CALLBACK })).toEqual(SHOWS_SIGN_IN_PAGE);
  const others = ['/', '?a=b', '#part', '/../callback'].map((more) => CALLBACK + more);
  const foreign = ['https://evil.example/', CALLBACK.replace('http:', 'https:'), CALLBACK.toUpperCase()];
  for (const redirect_uri of [undefined, '', ...others, ...foreign]) {
    expect(await outcomeWith({ redirect_uri })).toEqual(SHOWS_ERROR_PAGE);
  }
});

test('4.1 scope: required; case-sensitive scopes separated by spaces', async () => {
  for (const scope of ['room:read', 'room:write room:read']) {
    expect(await outcomeWith({ scope })).toEqual(SHOWS_SIGN_IN_PAGE);
  }
  for (const scope of [undefined, '']) {
    expect(await outcomeWith({ scope })).toEqual(redirectsWithError('invalid_request'));
  }
  for (const scope of ['Room:Read', 'room:read,room:write', 'room:read mural:read']) {
    expect(await outcomeWith({ scope })).toEqual(redirectsWithError('invalid_scope'));
  }
});

test('4.1 state: optional; any value is returned unchanged', async () => {
  const browser = openBrowser(service);
  for (const state of ['0', 'a b+c&d=e%20f#g?h/', '"><b>', 'ünïcödé ☂\n', 'x'.repeat(1_000)]) {
    const parameters = await signInAndAllow(browser, authorizationUrl({ state }));
    expect(parameters.getAll('state')).toEqual([state]);
  }
  expect((await signInAndAllow(browser, authorizationUrl({ state: undefined }))).has('code')).toBe(true);
});

test('4.1 response_type: required; only `code`', async () => {
  expect(await outcomeWith({ response_type: 'code' })).toEqual(SHOWS_SIGN_IN_PAGE);
  for (const response_type of [undefined, '']) {
    expect(await outcomeWith({ response_type })).toEqual(redirectsWithError('invalid_request'));
  }
  for (const response_type of ['token', 'id_token', 'code token', 'Code']) {
    expect(await outcomeWith({ response_type })).toEqual(redirectsWithError('unsupported_response_type'));
  }
});

test('4.1 authentication page: the user authenticates before the app receives a code', async () => {
  const browser = openBrowser(service);
  const page = await browser.get(url);
  expect({ status: page.status, type: page.type }).toEqual({ status: 200, type: 'text/html' });
  expect(page.text).toContain('type="password"');

  const refused = await browser.submit(url, page, 'sign-in', { ...DEMO, password: 'wrong' });
  expect({ status: refused.status, location: refused.get('location') }).toEqual({ status: 401 });
  // Consent without a sign-in redirects to the sign-in page.
  expect(locationOf(await browser.submit(url, page, 'allow'))).toBe(url);
  expect((await browser.get(url)).text).toContain('type="password"');

  await browser.submit(url, page, 'sign-in', DEMO);
  expect((await browser.get(url)).text).not.toContain('type="password"');
});

test('4.1 redirect after consent: only after consent, to the `redirect_uri`, with query parameters', async () => {
  const browser = openBrowser(service);
  const signedIn = await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
  expect(locationOf(signedIn)).toBe(url);
  const consent = await browser.get(url);
  expect({ status: consent.status, location: consent.get('location') }).toEqual({ status: 200 });

  const allowed = await browser.submit(url, consent, 'allow');
  expect(allowed.status).toBe(303);
  expect(locationOf(allowed).split('?')[0]).toBe(CALLBACK);
  const denied = await browser.submit(url, await browser.get(url), 'deny');
  expect(new URL(locationOf(denied)).searchParams.has('code')).toBe(false);

  const withQuery = authorizationUrl({ redirect_uri: WITH_QUERY });
  const added = await browser.submit(withQuery, await browser.get(withQuery), 'allow');
  expect(locationOf(added).slice(0, WITH_QUERY.length + 1)).toBe(`${WITH_QUERY}&`);
  expect([...new URL(locationOf(added)).searchParams.keys()].toSorted()).toEqual(['code', 'state', 'tenant']);
});

test('4.1 callback, code: a code that can be exchanged for an access token', async () => {
  const browser = openBrowser(service);
  const codes = [await signInAndAllow(browser), await signInAndAllow(browser)].map((parameters) =>
    parameters.getAll('code'),
  );
  expect(codes).toEqual([[expect.stringMatching(/^[\w-]{20,}$/)], [expect.stringMatching(/^[\w-]{20,}$/)]]);
  const [[one = ''] = [], [other = ''] = []] = codes;
  expect(one).not.toBe(other);
  expect((await service.exchange(one)).status).toBe(200);
  expect((await service.exchange(other)).status).toBe(200);
});

test('4.1 callback, state: the state of the request, if it had one', async () => {
  const browser = openBrowser(service);
  const namesWith = async (state: string | undefined) => {
    const parameters = await signInAndAllow(browser, authorizationUrl({ state }));
    return [...parameters.keys()].toSorted();
  };
  expect(await namesWith('a state')).toEqual(['code', 'state']);
  expect(await namesWith(undefined)).toEqual(['code']);
});
