import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CLIENT_ID } from '../support/constants.ts';
import { DESCRIPTION } from '../support/local-service/answers.ts';
import { expectPage } from '../support/local-service/clean-answers.ts';
import {
  AUTHORIZATION,
  authorizationUrl,
  locationOf,
  openBrowser,
  signInAndAllow,
} from '../support/local-service/cookie-browser.ts';
import { callRaw } from '../support/local-service/raw-call.ts';
import type { Answer } from '../support/local-service/raw-call.ts';
import { CALLBACK, openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { CHALLENGE, PKCE } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { BASE64URL, TARGET_BYTE, mangled } from './mangling.ts';

const OTHER_CALLBACK = 'https://app.example/callback?tenant=a%20b';
const SCOPES = ['room:read', 'room:write', 'workspace:read'];
const STATE = 'a state & more';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, OTHER_CALLBACK] });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

/** A form may be posted to any address that may be asked for: it is judged the same. */
const METHOD = fc.constantFrom('GET', 'POST');
const ask = (method: string, url: string) => callRaw(service, `${method} ${url}`, ['content-length: 0']);

const ANY_ERROR = '(?:invalid_request|invalid_scope|unsupported_response_type)';

/** A redirect to the app that carries an error, a reason, the state where there is one, and nothing else. */
function expectToldToApp(answer: Answer, error: string, state: string | undefined): void {
  expect(answer.status).toBe(303);
  const location = answer.get('location') ?? '';
  expect(location.slice(0, CALLBACK.length + 1)).toBe(`${CALLBACK}?`);
  const { searchParams } = new URL(location);
  searchParams.sort();
  expect([...searchParams]).toEqual([
    ['error', expect.stringMatching(new RegExp(`^${error}$`))],
    ['error_description', DESCRIPTION],
    ...(state ? [['state', state]] : []),
  ]);
}

const isAllowed = (scope: string | null) => (scope ?? '').split(' ').every((name) => SCOPES.includes(name));
/** A SHA-256 hash in Base64 for addresses: 43 characters, and no padding (RFC 7636 §4.2). */
const isChallenge = (text: string | null) =>
  text?.length === 43 && text.split('').every((character) => BASE64URL.includes(character));

/** Whether these parameters, but for the client and where it is, are an authorization request. */
function isInOrder(said: URLSearchParams): boolean {
  const names = [...said.keys()];
  const [challenge, method] = [said.get('code_challenge'), said.get('code_challenge_method')];
  const isBound = challenge || method ? isChallenge(challenge) && method === 'S256' : true;
  const isOnce = new Set(names).size === names.length;
  return isOnce && said.get('response_type') === 'code' && isAllowed(said.get('scope')) && isBound;
}

test.each([
  ['client_id', CLIENT_ID],
  ['redirect_uri', CALLBACK],
  ['redirect_uri', OTHER_CALLBACK],
])('a mangled %s (%s) is a page, and leads nowhere', async (name, valid) => {
  await fc.assert(
    fc.asyncProperty(METHOD, mangled(valid), async (method, text) => {
      expectPage(await ask(method, authorizationUrl({ ...PKCE, [name]: text })), 400);
    }),
    { numRuns: times(100) },
  );
});

describe('any other mangled parameter is told to the app, with its state', () => {
  const cases: [string, string, string, (text: string) => boolean][] = [
    ['response_type', 'code', 'unsupported_response_type', () => false],
    ['scope', SCOPES.join(' '), 'invalid_scope', isAllowed],
    ['code_challenge', CHALLENGE, 'invalid_request', isChallenge],
    ['code_challenge_method', 'S256', 'invalid_request', () => false],
  ];
  test.each(cases)('%s', async (name, valid, error, isGood) => {
    const wrong = mangled(valid).filter((text) => !isGood(text));
    await fc.assert(
      fc.asyncProperty(METHOD, wrong, async (method, text) => {
        const answer = await ask(method, authorizationUrl({ ...PKCE, [name]: text }));
        expectToldToApp(answer, text === '' ? 'invalid_request' : error, STATE);
      }),
      { numRuns: times(60) },
    );
  });
});

test('a query with any one place mangled is judged by what it says', async () => {
  const whole = authorizationUrl(PKCE).slice(AUTHORIZATION.length + 1);
  await fc.assert(
    fc.asyncProperty(METHOD, mangled(whole, TARGET_BYTE), async (method, query) => {
      const answer = await ask(method, `${AUTHORIZATION}?${query}`);
      const said = new URLSearchParams(`?${query}`);
      const states = said.getAll('state');
      if (said.getAll('client_id').join() !== CLIENT_ID || said.getAll('redirect_uri').join() !== CALLBACK) {
        expectPage(answer, 400);
      } else if (isInOrder(said)) expectPage(answer, method === 'GET' ? 200 : 403);
      else expectToldToApp(answer, ANY_ERROR, states.length === 1 ? states[0] : undefined);
    }),
    { numRuns: times(200) },
  );
});

describe('any state comes back unchanged', () => {
  test('with a fault of the request', async () => {
    await fc.assert(
      fc.asyncProperty(METHOD, mangled(STATE), async (method, state) => {
        const answer = await ask(method, authorizationUrl({ scope: undefined, state }));
        expectToldToApp(answer, 'invalid_request', state);
      }),
      { numRuns: times(100) },
    );
  });

  test('with a code, and with a denial', async () => {
    const browser = openBrowser(service);
    await signInAndAllow(browser);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('allow', 'deny'), mangled(STATE), async (step, state) => {
        const url = authorizationUrl({ state });
        const { searchParams } = new URL(locationOf(await browser.submit(url, await browser.get(url), step)));
        expect(searchParams.get('state') ?? '').toBe(state);
      }),
      { numRuns: times(40) },
    );
  });

  test('or not at all, where its bytes are no text', async () => {
    const answer = await ask(
      'GET',
      `${authorizationUrl({ scope: undefined, state: undefined })}&state=a%ffb`,
    );
    expect(answer.get('location')).not.toMatch(/state=(?!a%ffb$)/i);
  });
});
