import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
  signInAndAllow,
} from '../../support/local-service/cookie-browser.ts';
import { CALLBACK, openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import { codeFields, postToken } from '../../support/local-service/token-calls.ts';

const WITH_QUERY = `${CALLBACK}?tenant=a%20b`;

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, WITH_QUERY] });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const url = authorizationUrl();

test('4.1 authentication page: the user is asked to authenticate before anything is given away', async () => {
  const browser = openBrowser(service);
  const page = await browser.get(url);
  expect({ status: page.status, type: page.type }).toEqual({ status: 200, type: 'text/html' });
  expect(page.text).toContain('type="password"');

  const refused = await browser.submit(url, page, 'sign-in', { ...DEMO, password: 'wrong' });
  expect({ status: refused.status, location: refused.get('location') }).toEqual({ status: 401 });
  // Whoever says yes without having said who they are is asked again.
  expect(locationOf(await browser.submit(url, page, 'allow'))).toBe(url);
  expect((await browser.get(url)).text).toContain('type="password"');

  await browser.submit(url, page, 'sign-in', DEMO);
  expect((await browser.get(url)).text).not.toContain('type="password"');
});

test('4.1 redirect after consent: only after the user allowed it, to the `redirect_uri`, as query parameters', async () => {
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
  expect((await postToken(service, codeFields(one))).status).toBe(200);
  expect((await postToken(service, codeFields(other))).status).toBe(200);
});

test('4.1 callback, state: the request’s state where it had one, else none', async () => {
  const browser = openBrowser(service);
  const namesWith = async (state: string | undefined) => {
    const parameters = await signInAndAllow(browser, authorizationUrl({ state }));
    return [...parameters.keys()].toSorted();
  };
  expect(await namesWith('a state')).toEqual(['code', 'state']);
  expect(await namesWith(undefined)).toEqual(['code']);
});
