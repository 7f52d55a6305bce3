import type { Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { parseCookie } from 'cookie';
import { expectPage, expectStatus } from '../support/local-service/clean-answers.ts';
import {
  DEMO,
  authorizationUrl,
  formTokenOf,
  openBrowser,
  signInAndAllow,
} from '../support/local-service/cookie-browser.ts';
import type { CookieBrowser } from '../support/local-service/cookie-browser.ts';
import { FORM, postRaw, callRaw } from '../support/local-service/raw-call.ts';
import type { Answer } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { fc, times } from '../support/properties.ts';
import { BYTE, HEADER_BYTE, mangled } from './mangling.ts';

const ADDRESS = authorizationUrl();

let bench: Bench;
let service: Server;
let stranger: CookieBrowser;
let signedIn: CookieBrowser;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});
beforeEach(async () => {
  [stranger, signedIn] = [openBrowser(service), openBrowser(service)];
  await signInAndAllow(signedIn);
});

/** The fields of the form that the browser is shown, and its cookie. */
async function fill(browser: CookieBrowser, fields: Record<string, string>) {
  const form = { form_token: formTokenOf(await browser.get(ADDRESS)), ...fields };
  return { form, cookie: (await browser.jar.serialize()).cookies[0]?.value ?? '' };
}

const post = (cookie: string, body: string): Promise<Answer> =>
  postRaw(service, ADDRESS, Buffer.from(body, 'latin1'), FORM, `cookie: ${cookie}`);

const SIGN_IN = { step: 'sign-in', ...DEMO };

test.each(['username', 'password'])('a mangled %s signs nobody in', async (name) => {
  const { form } = await fill(stranger, SIGN_IN);
  // Blanks around a name are the keyboard's.
  const wrong = mangled('demo').filter((text) => (name === 'username' ? text.trim() : text) !== 'demo');
  await fc.assert(
    fc.asyncProperty(wrong, async (text) => {
      const page = await stranger.post(ADDRESS, { ...form, [name]: text });
      expectPage(page, 401);
      expect(page.get('set-cookie')).toBeUndefined();
    }),
    { numRuns: times(60) },
  );
});

test.each(['allow', 'deny', 'switch', 'sign-in'])(
  'with a mangled form_token nothing is done: %s',
  async (step) => {
    const browser = step === 'sign-in' ? stranger : signedIn;
    const { form } = await fill(browser, { ...SIGN_IN, step });
    await fc.assert(
      fc.asyncProperty(mangled(form.form_token), async (text) => {
        const page = await browser.post(ADDRESS, { ...form, form_token: text });
        expectPage(page, 403);
        expect(page.get('set-cookie')).toBeUndefined();
      }),
      { numRuns: times(40) },
    );
  },
);

test('a mangled step is none', async () => {
  const { form } = await fill(signedIn, {});
  await fc.assert(
    fc.asyncProperty(mangled('allow'), async (step) => {
      expectPage(await signedIn.post(ADDRESS, { ...form, step }), 400);
    }),
    { numRuns: times(60) },
  );
});

test('with a mangled cookie nobody is recognised', async () => {
  const { form, cookie } = await fill(signedIn, { step: 'allow' });
  const header = mangled(`local_service=${cookie}`, HEADER_BYTE).filter(
    (text) => parseCookie(text)['local_service'] !== cookie,
  );
  await fc.assert(
    fc.asyncProperty(header, async (text) => {
      expectPage(await post(text, new URLSearchParams(form).toString()), 403);
      const page = await callRaw(service, `GET ${ADDRESS}`, [`cookie: ${text}`]);
      expectPage(page, 200);
      expect(page.text).toContain('type="password"');
    }),
    { numRuns: times(100) },
  );
});

test('a body with any one place mangled is judged by what it says', async () => {
  const { form, cookie } = await fill(stranger, SIGN_IN);
  await fc.assert(
    fc.asyncProperty(mangled(new URLSearchParams(form).toString(), BYTE), async (body) => {
      const answer = await post(`local_service=${cookie}`, body);
      // A question mark of its own would be taken for the beginning of a query.
      const said = new URLSearchParams(`?${Buffer.from(body, 'latin1').toString()}`);
      const isRepeated = new Set(said.keys()).size < said.size;
      if (said.get('form_token') !== form.form_token) expectPage(answer, 403);
      else if (said.get('step') !== 'sign-in' || isRepeated) expectPage(answer, 400);
      else if (said.get('username')?.trim() !== 'demo' || said.get('password') !== 'demo') {
        expectPage(answer, 401);
      } else expectStatus(answer, 303);
    }),
    { numRuns: times(150) },
  );
});

test('no bytes whatever are a form', async () => {
  const { cookie } = await fill(signedIn, {});
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: BYTE, maxLength: 300 }), async (body) => {
      expectPage(await post(`local_service=${cookie}`, body), 403);
    }),
    { numRuns: times(75) },
  );
});

test('a body of another type, charset, encoding or size is no form, and a page says so', async () => {
  const { cookie } = await fill(signedIn, {});
  const type = fc.oneof(mangled(FORM, HEADER_BYTE), fc.constantFrom(FORM, `${FORM}; charset=x`));
  const encoding = fc.constantFrom('', 'gzip', 'deflate', 'br', 'x');
  const body = fc.oneof(
    fc.uint8Array(),
    fc.nat(60_000).map((size) => new Uint8Array(size)),
  );
  await fc.assert(
    fc.asyncProperty(type, encoding, body, async (sentType, sentEncoding, bytes) => {
      const headers = [`content-encoding: ${sentEncoding}`, `cookie: local_service=${cookie}`];
      const page = await postRaw(service, ADDRESS, bytes, sentType, ...headers);
      expect([400, 403, 413, 415]).toContain(page.status);
      expectPage(page, page.status);
    }),
    { numRuns: times(75) },
  );
});
