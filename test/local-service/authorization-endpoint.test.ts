import { expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID } from '../support/constants.ts';
import {
  DEMO,
  authorizationUrl,
  copyCookies,
  formTokenOf,
  locationOf,
  openBrowser,
  signInAndAllow,
} from '../support/local-service/cookie-browser.ts';
import {
  SHOWS_ERROR_PAGE,
  authorizationOutcome,
  redirectsWithError,
} from '../support/local-service/expectations.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import { CHALLENGE, requestRaw } from '../support/local-service/requests.ts';

// Tests of behaviour that the interface does not specify. conformance/authorization.test.ts covers the interface.

const url = authorizationUrl();

const { service } = useLocalService();

const requests: [string, string, object][] = [
  ['a repeated client_id shows an error page', `${url}&client_id=${CLIENT_ID}`, SHOWS_ERROR_PAGE],
  [
    'a repeated redirect_uri shows an error page',
    `${url}&redirect_uri=https://evil.example/`,
    SHOWS_ERROR_PAGE,
  ],
  [
    'a repeated scope redirects with an error',
    `${url}&scope=room:read`,
    redirectsWithError('invalid_request'),
  ],
  [
    'a challenge but no method redirects with an error',
    authorizationUrl({ code_challenge: CHALLENGE }),
    redirectsWithError('invalid_request'),
  ],
  [
    'a method but no challenge redirects with an error',
    authorizationUrl({ code_challenge_method: 'S256' }),
    redirectsWithError('invalid_request'),
  ],
];
test.each(requests)('an authorization request with %s', async (_name, address, outcome) => {
  expect(await authorizationOutcome(service, address)).toEqual(outcome);
});

test.each(['{"a":1}', 'a%zzb', 'a%ffb', "'<>|^"])(
  'an error redirect contains the state %s unchanged',
  async (state) => {
    const address = `${authorizationUrl({ state: undefined, scope: undefined })}&state=${state}`;
    const response = await requestRaw(service, `GET ${address}`);
    expect(response.get('location')?.split('&state=')[1]).toBe(state);
  },
);

test('an error redirect contains no state if the request has two states', async () => {
  const location = new URL(locationOf(await request(service).get(`${url}&state=other`)));
  expect(location.searchParams.get('error')).toBe('invalid_request');
  expect(location.searchParams.has('state')).toBe(false);
});

async function signedIn() {
  const browser = openBrowser(service);
  await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
  return browser;
}

test('the response to every completed step is a 303, so that browsers do not repost the form', async () => {
  const browser = openBrowser(service);
  const step = async (name: string, fields = {}) =>
    (await browser.submit(url, await browser.get(url), name, fields)).status;
  expect(await step('sign-in', DEMO)).toBe(303);
  for (const name of ['allow', 'deny', 'switch']) expect(await step(name)).toBe(303);
});

test('the consent page shows the app, the account and a description of each scope', async () => {
  const page = await (await signedIn()).get(url);
  for (const text of [
    CLIENT_ID,
    'Robin Vesterholt',
    'See your rooms',
    'See your workspaces',
    'localhost:3000',
  ]) {
    expect(page.text).toContain(text);
  }
});

const states = ['a%ffb', '%EF%BF%BD', 'a+b%20c', 'a%26b=c', '%c3%a9t%c3%a9', '=='];
test.each(states)('redirects with a code or a denial contain the state %s byte for byte', async (state) => {
  const address = `${authorizationUrl({ state: undefined })}&state=${state}`;
  const browser = openBrowser(service);
  await signInAndAllow(browser);
  for (const step of ['allow', 'deny']) {
    const parameters = locationOf(await browser.submit(address, await browser.get(address), step)).split(
      /[?&]/,
    );
    expect(parameters.filter((text) => text.startsWith('state='))).toEqual([`state=${state}`]);
  }
});

test('denying access redirects to the app with access_denied and the state', async () => {
  const browser = await signedIn();
  const res = await browser.submit(url, await browser.get(url), 'deny');
  expect(Object.fromEntries(new URL(locationOf(res)).searchParams)).toEqual({
    error: 'access_denied',
    error_description: expect.any(String),
    state: 'a state & more',
  });
});

test('a wrong password shows the sign-in page again with a message and the user name', async () => {
  const browser = openBrowser(service);
  const res = await browser.submit(url, await browser.get(url), 'sign-in', {
    username: '"><b>demo',
    password: 'wrong',
  });
  expect(res.status).toBe(401);
  expect(res.text).toContain('role="alert"');
  expect(res.text).toContain('value="&quot;&gt;&lt;b&gt;demo"');
  expect((await browser.get(url)).text).toContain('type="password"');
});

test('the password for another account is refused', async () => {
  const browser = openBrowser(service);
  const page = await browser.get(url);
  const res = await browser.submit(url, page, 'sign-in', { username: 'demo', password: 'guest' });
  expect(res.status).toBe(401);
});

test('an open sign-in page still works after the user has signed in from another tab', async () => {
  const browser = openBrowser(service);
  const [one, other] = [authorizationUrl({ state: 'one' }), authorizationUrl({ state: 'other' })];
  const [page, late] = [await browser.get(one), await browser.get(other)];
  await browser.submit(one, page, 'sign-in', DEMO);
  const res = await browser.submit(other, late, 'sign-in', DEMO);
  expect(res.status).toBe(303);
  expect(locationOf(res)).toBe(other);
});

test('a consent form sent with no decision or with two decisions is refused', async () => {
  const browser = await signedIn();
  const page = await browser.get(url);
  for (const steps of ['', '&step=allow&step=deny']) {
    const res = await browser.post(url, `form_token=${formTokenOf(page)}${steps}`);
    expect(res.status).toBe(400);
    expect(res.text).toContain('Nothing was chosen');
  }
});

test('after switching accounts, the user must sign in again and the old cookie is invalid', async () => {
  const browser = await signedIn();
  const before = await browser.jar.clone();
  expect((await browser.submit(url, await browser.get(url), 'switch')).status).toBe(303);
  expect((await browser.get(url)).text).toContain('type="password"');
  const other = await copyCookies(before, openBrowser(service));
  expect((await other.get(url)).text).toContain('type="password"');
});

test('signing in replaces the cookie in the browser', async () => {
  const browser = openBrowser(service);
  const page = await browser.get(url);
  const before = page.get('set-cookie')?.[0];
  const after = (await browser.submit(url, page, 'sign-in', DEMO)).get('set-cookie')?.[0];
  expect(after).toMatch(/^local_service=[\w-]{43}; /);
  expect(after).not.toBe(before);
});

test('the cookie is sent only to the authorization endpoint and is hidden from scripts', async () => {
  const res = await openBrowser(service).get(url);
  const attributes = res.get('set-cookie')?.[0]?.split('; ').slice(1);
  expect(attributes).toEqual(['Path=/api/public/v1/authorization/oauth2/', 'HttpOnly', 'SameSite=Lax']);
});

test('a form from another browser is refused', async () => {
  const other = await (await signedIn()).get(url);
  const res = await (await signedIn()).post(url, { step: 'allow', form_token: formTokenOf(other) });
  expect(res.status).toBe(403);
});

test('a form for one authorization request can’t be sent for another', async () => {
  const browser = await signedIn();
  const narrow = await browser.get(authorizationUrl({ scope: 'room:read' }));
  const res = await browser.submit(authorizationUrl({ scope: 'room:write' }), narrow, 'allow');
  expect(res.status).toBe(403);
});

test('a redirect URI in the form is ignored', async () => {
  const browser = await signedIn();
  const page = await browser.get(url);
  const res = await browser.submit(url, page, 'allow', { redirect_uri: 'https://evil.example/' });
  expect(locationOf(res)).toMatch(/^http:\/\/localhost:3000\/auth\/callback\?/);
});

test('the pages allow no scripts, frames, external sources or caching', async () => {
  const res = await openBrowser(service).get(url);
  expect(res.get('content-security-policy')).toBe(
    "default-src 'none';style-src 'self';base-uri 'none';frame-ancestors 'none'",
  );
  expect(res.get('cache-control')).toBe('no-store');
  expect(res.get('referrer-policy')).toBe('no-referrer');
  expect(res.get('x-powered-by')).toBeUndefined();
  expect(res.text).not.toContain('<script');
});
