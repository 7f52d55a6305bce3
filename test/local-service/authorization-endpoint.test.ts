import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import {
  AUTHORIZATION,
  DEMO,
  authorizationUrl,
  copyCookies,
  formTokenOf,
  locationOf,
  openBrowser,
  signInAndAllow,
} from '../support/local-service/cookie-browser.ts';
import { authorizationOutcome, tellsApp } from '../support/local-service/expectations.ts';
import { startServiceFixture } from '../support/local-service/fixture.ts';
import { CALLBACK, CHALLENGE, requestRaw } from '../support/local-service/requests.ts';

const url = authorizationUrl();

const fixture = useFixture(startServiceFixture);
const service = useFixture(async () =>
  fixture.start({ redirectUris: [CALLBACK, `${CALLBACK}?tenant=a%20b`] }),
);

const get = (address: string) => request(service).get(address);

describe('a request without a trusted redirect target is a page, not a redirect', () => {
  const cases: [string, string][] = [
    ['a repeated client', `${authorizationUrl()}&client_id=${CLIENT_ID}`],
    ['a repeated redirect URI', `${authorizationUrl()}&redirect_uri=https://evil.example/`],
  ];
  test.each(cases)('%s', async (_name, address) => {
    const res = await get(address);
    expect(res.status).toBe(400);
    expect(res.get('location')).toBeUndefined();
    expect(res.text).toContain('faulty request');
  });
});

// Faults that no row of the interface names; conformance/authorization.test.ts has the others.
describe('any other fault redirects to the app with an error', () => {
  const cases: [string, string, string][] = [
    ['a repeated parameter', `${authorizationUrl()}&scope=room:read`, 'invalid_request'],
    [
      'a plain challenge',
      authorizationUrl({ code_challenge: CHALLENGE, code_challenge_method: 'plain' }),
      'invalid_request',
    ],
    ['a challenge without a method', authorizationUrl({ code_challenge: CHALLENGE }), 'invalid_request'],
    ['a method without a challenge', authorizationUrl({ code_challenge_method: 'S256' }), 'invalid_request'],
  ];
  test.each(cases)('%s', async (_name, address, error) => {
    expect(await authorizationOutcome(service, address)).toEqual(tellsApp(error));
  });
});

test.each(['{"a":1}', 'a%zzb', 'a%ffb', "'<>|^"])(
  'the state %s comes back without another encoding',
  async (state) => {
    const address = `${authorizationUrl({ state: undefined, scope: undefined })}&state=${state}`;
    const response = await requestRaw(service, `GET ${address}`);
    expect(response.get('location')?.split('&state=')[1]).toBe(state);
  },
);

test('a request with two states gets none back', async () => {
  const location = new URL(locationOf(await get(`${authorizationUrl()}&state=other`)));
  expect(location.searchParams.get('error')).toBe('invalid_request');
  expect(location.searchParams.has('state')).toBe(false);
});

test('a registered redirect URI keeps its own query', async () => {
  const res = await get(authorizationUrl({ redirect_uri: `${CALLBACK}?tenant=a%20b`, scope: undefined }));
  const own = `${CALLBACK}?tenant=a%20b&`;
  expect(locationOf(res).slice(0, own.length)).toBe(own);
  expect(new URL(locationOf(res)).searchParams.get('error')).toBe('invalid_request');
});

test('a method that is not for browsers is refused', async () => {
  const res = await request(service).put(AUTHORIZATION);
  expect(res.status).toBe(405);
  expect(res.get('allow')).toBe('GET, HEAD, POST');
});

async function signedIn() {
  const browser = openBrowser(service);
  await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
  return browser;
}

test('every completed step is a 303, so that no browser posts its form again', async () => {
  const browser = openBrowser(service);
  const step = async (name: string, fields = {}) =>
    (await browser.submit(url, await browser.get(url), name, fields)).status;
  expect(await step('sign-in', DEMO)).toBe(303);
  for (const name of ['allow', 'deny', 'switch']) expect(await step(name)).toBe(303);
});

test('the consent page names the app, the account and each scope in words', async () => {
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
test.each(states)('the state %j comes back byte for byte', async (state) => {
  const address = `${authorizationUrl({ state: undefined })}&state=${state}`;
  const browser = openBrowser(service);
  await signInAndAllow(browser, address);
  const denied = await browser.submit(address, await browser.get(address), 'deny');
  const parameters = locationOf(denied).split(/[?&]/);
  expect(parameters.filter((text) => text.startsWith('state='))).toEqual([`state=${state}`]);
});

test('denying gives the app access_denied and its state', async () => {
  const browser = await signedIn();
  const res = await browser.submit(url, await browser.get(url), 'deny');
  expect(res.status).toBe(303);
  expect(Object.fromEntries(new URL(locationOf(res)).searchParams)).toEqual({
    error: 'access_denied',
    error_description: expect.any(String),
    state: 'a state & more',
  });
});

test('a wrong password shows the page again with a message and the user name', async () => {
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

test('the password of another account does not open this one', async () => {
  const browser = openBrowser(service);
  const page = await browser.get(url);
  const res = await browser.submit(url, page, 'sign-in', { username: 'demo', password: 'guest' });
  expect(res.status).toBe(401);
});

test('a signed-in user is only asked for consent', async () => {
  const browser = await signedIn();
  await browser.submit(url, await browser.get(url), 'allow');
  const page = await browser.get(authorizationUrl({ scope: 'room:read' }));
  expect(page.text).toContain('value="allow"');
  expect(page.text).not.toContain('type="password"');
});

test('a tab that shows the sign-in page still goes on after another has signed in', async () => {
  const browser = openBrowser(service);
  const [one, other] = [authorizationUrl({ state: 'one' }), authorizationUrl({ state: 'other' })];
  const [page, late] = [await browser.get(one), await browser.get(other)];
  await browser.submit(one, page, 'sign-in', { username: 'demo', password: 'demo' });
  const res = await browser.submit(other, late, 'sign-in', { username: 'demo', password: 'demo' });
  expect(res.status).toBe(303);
  expect(locationOf(res)).toBe(other);
});

test('a consent without a button, or with both, chooses nothing', async () => {
  const browser = openBrowser(service);
  const address = authorizationUrl();
  await signInAndAllow(browser, address);
  const page = await browser.get(address);
  for (const steps of ['', '&step=allow&step=deny']) {
    const res = await browser.post(address, `form_token=${formTokenOf(page)}${steps}`);
    expect(res.status).toBe(400);
    expect(res.text).toContain('Nothing was chosen');
  }
});

test('switching the account asks to sign in again, and the old cookie is no longer valid', async () => {
  const browser = await signedIn();
  const before = await browser.jar.clone();
  expect((await browser.submit(url, await browser.get(url), 'switch')).status).toBe(303);
  expect((await browser.get(url)).text).toContain('type="password"');
  const thief = await copyCookies(before, openBrowser(service));
  expect((await thief.get(url)).text).toContain('type="password"');
});

test('signing in replaces the cookie that was there before', async () => {
  const browser = openBrowser(service);
  const page = await browser.get(url);
  const before = page.get('set-cookie')?.[0];
  const after = (await browser.submit(url, page, 'sign-in', DEMO)).get('set-cookie')?.[0];
  expect(after).toMatch(/^local_service=[\w-]{43}; /);
  expect(after).not.toBe(before);
});

test('the cookie goes to the authorization endpoint only, and to no script', async () => {
  const res = await openBrowser(service).get(url);
  const attributes = res.get('set-cookie')?.[0]?.split('; ').slice(1);
  expect(attributes).toEqual(['Path=/api/public/v1/authorization/oauth2/', 'HttpOnly', 'SameSite=Lax']);
});

test('a form of another browser is refused', async () => {
  const other = await (await signedIn()).get(url);
  const res = await (await signedIn()).post(url, { step: 'allow', form_token: formTokenOf(other) });
  expect(res.status).toBe(403);
});

test('a form that was shown for one request can’t be sent for another', async () => {
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

test('a post is held to the rules of the request as a get is', async () => {
  const browser = await signedIn();
  const page = await browser.get(url);
  const res = await browser.submit(
    authorizationUrl({ redirect_uri: 'https://evil.example/' }),
    page,
    'allow',
  );
  expect(res.status).toBe(400);
  expect(res.get('location')).toBeUndefined();
});

test('the pages allow no script, no frame, no foreign source, and no storing', async () => {
  const res = await openBrowser(service).get(url);
  expect(res.get('content-security-policy')).toBe(
    "default-src 'none';style-src 'self';base-uri 'none';frame-ancestors 'none'",
  );
  expect(res.get('cache-control')).toBe('no-store');
  expect(res.get('referrer-policy')).toBe('no-referrer');
  expect(res.get('x-powered-by')).toBeUndefined();
  expect(res.text).not.toContain('<script');
});
