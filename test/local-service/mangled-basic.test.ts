import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../support/constants.ts';
import { expectTokenError } from '../support/local-service/clean-answers.ts';
import { FORM, postRaw } from '../support/local-service/raw-call.ts';
import type { Answer } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { newTokens, refreshFields, without } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { BASE64, credentialsIn } from './credentials-header.ts';
import { BYTE, HEADER_BYTE, mangled } from './mangling.ts';

const APP = `${CLIENT_ID}:${CLIENT_SECRET}`;

let bench: Bench;
let compat: Server;
let fields: Record<string, string>;
beforeAll(async () => {
  bench = await openBench();
  compat = await bench.start({ compat: true });
  fields = refreshFields((await newTokens(compat)).refresh_token);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

describe('HTTP Basic', () => {
  const postBasic = (header: string): Promise<Answer> => {
    const grant = without(fields, 'client_id', 'client_secret');
    const body = Buffer.from(new URLSearchParams(grant).toString());
    return postRaw(compat, TOKEN_PATH, body, FORM, `authorization: ${header}`);
  };
  const toBasic = (text: string, encoding: BufferEncoding = 'utf8') =>
    `Basic ${Buffer.from(text, encoding).toString('base64')}`;

  const percentDecode = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  async function expectRefused(header: string): Promise<void> {
    const answer = await postBasic(header);
    expectTokenError(answer, ['invalid_client']);
    expect(answer.get('www-authenticate')).toMatch(/^Basic /);
  }

  test('with a mangled header is no credentials', async () => {
    const isGood = (header: string) =>
      Buffer.from(credentialsIn(header, 'Basic', BASE64) ?? '', 'base64').toString() === APP;
    const header = mangled(toBasic(APP), HEADER_BYTE).filter((text) => !isGood(text));
    await fc.assert(fc.asyncProperty(header, expectRefused), { numRuns: times(100) });
  });

  test('with a mangled id or secret is refused, whatever it decodes to', async () => {
    const escape = fc.constantFrom('%', '%z', '%4', '%c3', '%ff', '%00', '%3a', '+');
    const text = fc.oneof(mangled(APP), mangled(APP, escape)).filter((other) => percentDecode(other) !== APP);
    await fc.assert(
      fc.asyncProperty(text, (other) => expectRefused(toBasic(other))),
      { numRuns: times(100) },
    );
  });

  test('with any bytes is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: BYTE, maxLength: 200 }), (text) =>
        expectRefused(toBasic(text, 'latin1')),
      ),
      { numRuns: times(75) },
    );
  });
});
