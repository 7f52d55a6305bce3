import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectTokenError } from '../support/local-service/clean-answers.ts';
import { authorizationUrl, openBrowser, signInAndAllow } from '../support/local-service/cookie-browser.ts';
import type { CookieBrowser } from '../support/local-service/cookie-browser.ts';
import { CALLBACK, openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import {
  PKCE,
  VERIFIER,
  codeFields,
  newTokens,
  postToken,
  refreshFields,
} from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { mangled } from './mangling.ts';

let bench: Bench;
let service: Server;
/** Signed in, so that each further code takes two requests only. */
let browser: CookieBrowser;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, `${CALLBACK}/other`] });
  browser = openBrowser(service);
  await signInAndAllow(browser);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

async function newExchange(): Promise<Record<string, string>> {
  const code = (await signInAndAllow(browser, authorizationUrl(PKCE))).get('code') ?? '';
  return codeFields(code, { code_verifier: VERIFIER });
}

const newRefresh = async () => refreshFields((await newTokens(service)).refresh_token);

/** Which errors a field that isn't what it must be may lead to; without a value it counts as missing. */
const FIELDS: [string, readonly string[]][] = [
  ['client_id', ['invalid_client']],
  ['client_secret', ['invalid_client']],
  ['grant_type', ['invalid_request', 'unsupported_grant_type']],
];

async function expectEachRefused(
  fields: Record<string, string>,
  name: string,
  errors: readonly string[],
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(mangled(fields[name] ?? ''), async (text) => {
      expectTokenError(await postToken(service, { ...fields, [name]: text }), errors);
    }),
    { numRuns: times(60) },
  );
}

describe('an exchange with a mangled', () => {
  test.each([
    ...FIELDS,
    ['redirect_uri', ['invalid_request', 'invalid_grant']],
    ['code', ['invalid_request', 'invalid_grant']],
  ] as typeof FIELDS)('%s is refused, and leaves the code as good as it was', async (name, errors) => {
    const fields = await newExchange();
    await expectEachRefused(fields, name, errors);
    expect((await postToken(service, fields)).status).toBe(200);
  });

  test('code_verifier is invalid_grant', async () => {
    await fc.assert(
      fc.asyncProperty(mangled(VERIFIER), async (text) => {
        const fields = await newExchange();
        expectTokenError(await postToken(service, { ...fields, code_verifier: text }), ['invalid_grant']);
      }),
      { numRuns: times(40) },
    );
  });
});

describe('a refresh with a mangled', () => {
  test.each([...FIELDS, ['refresh_token', ['invalid_request', 'invalid_grant']]] as typeof FIELDS)(
    '%s is refused, and leaves the refresh token as good as it was',
    async (name, errors) => {
      const fields = await newRefresh();
      await expectEachRefused(fields, name, errors);
      expect((await postToken(service, fields)).status).toBe(200);
    },
  );
});

test('no secret of one kind is good for another', async () => {
  const exchange = await newExchange();
  const { access_token, refresh_token } = await newTokens(service);
  const cookie = (await browser.jar.serialize()).cookies[0]?.value ?? '';
  for (const secret of [access_token, refresh_token, cookie, VERIFIER]) {
    expectTokenError(await postToken(service, { ...exchange, code: secret }), ['invalid_grant']);
  }
  for (const secret of [access_token, exchange['code'] ?? '', cookie, VERIFIER]) {
    expectTokenError(await postToken(service, refreshFields(secret)), ['invalid_grant']);
  }
});
