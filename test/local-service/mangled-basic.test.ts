import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { expectTokenError } from './clean-answers.ts';
import { BYTE, HEADER_BYTE, mangled } from './mangling.ts';
import { FORM, postRaw } from './raw-call.ts';
import type { Answer } from './raw-call.ts';
import { openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { TOKEN, newTokens, refreshFields } from './token-calls.ts';

const APP = 'demo-app:demo-secret';

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
    const { client_id: _id, client_secret: _secret, ...rest } = fields;
    const body = Buffer.from(new URLSearchParams(rest).toString());
    return postRaw(compat, TOKEN, body, FORM, `authorization: ${header}`);
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
    const isGood = (header: string) => {
      const encoded = /^basic +(?<text>[\w+/]+=*)$/i.exec(header.trim())?.groups?.['text'] ?? '';
      return Buffer.from(encoded, 'base64').toString() === APP;
    };
    const header = mangled(toBasic(APP), HEADER_BYTE).filter((text) => !isGood(text));
    await fc.assert(fc.asyncProperty(header, expectRefused), { numRuns: 100 });
  });

  test('with a mangled id or secret is refused, whatever it decodes to', async () => {
    const escape = fc.constantFrom('%', '%z', '%4', '%c3', '%ff', '%00', '%3a', '+');
    const text = fc.oneof(mangled(APP), mangled(APP, escape)).filter((other) => percentDecode(other) !== APP);
    await fc.assert(
      fc.asyncProperty(text, (other) => expectRefused(toBasic(other))),
      { numRuns: 100 },
    );
  });

  test('with any bytes is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: BYTE, maxLength: 200 }), (text) =>
        expectRefused(toBasic(text, 'latin1')),
      ),
      { numRuns: 75 },
    );
  });
});
