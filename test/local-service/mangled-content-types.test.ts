import type { Server } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { TOKEN_PATH } from '../support/constants.ts';
import { expectTokenError } from '../support/local-service/clean-answers.ts';
import { FORM, postRaw } from '../support/local-service/raw-call.ts';
import type { Answer } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { newTokens, refreshFields } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { HEADER_BYTE, mangled } from './mangling.ts';

let bench: Bench;
let services: { strict: Server; compat: Server };
let valid: Buffer;
beforeAll(async () => {
  bench = await openBench();
  services = { strict: await bench.start(), compat: await bench.start({ compat: true }) };
  const fields = refreshFields((await newTokens(services.strict)).refresh_token);
  valid = Buffer.from(new URLSearchParams(fields).toString());
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const INVALID_REQUEST = ['invalid_request'];

describe.each(['strict', 'compat'] as const)('%s', (mode) => {
  const post = (body: Uint8Array, type = FORM, ...headers: string[]): Promise<Answer> =>
    postRaw(services[mode], TOKEN_PATH, body, type, ...headers);

  test('no mangled media type is that of a form', async () => {
    const type = mangled(FORM, HEADER_BYTE).filter(
      (text) => text.split(';', 1)[0]?.trim().toLowerCase() !== FORM,
    );
    await fc.assert(
      fc.asyncProperty(type, async (text) => {
        expectTokenError(await post(valid, text), INVALID_REQUEST);
      }),
      { numRuns: times(100) },
    );
  });

  test('a body in an unknown or another charset is refused', async () => {
    const charset = fc.oneof(
      fc.constantFrom(
        'utf-16',
        'utf-16le',
        'utf-32',
        'base64',
        'hex',
        'constructor',
        '__proto__',
        'utf-8888',
        'x',
      ),
      fc.string({ unit: HEADER_BYTE, maxLength: 20 }).map((text) => `x-${text.replaceAll(/[";\\ \t]/g, '')}`),
    );
    await fc.assert(
      fc.asyncProperty(charset, async (name) => {
        expectTokenError(await post(valid, `${FORM}; charset=${name}`));
      }),
      { numRuns: times(50) },
    );
  });

  test('a body that is not what its content-encoding says is refused', async () => {
    const pack = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
    const encoding = fc.constantFrom(...(Object.keys(pack) as (keyof typeof pack)[]));
    const cut = fc.tuple(encoding, fc.nat(1_000)).map(([name, at]) => {
      const packed = pack[name](valid);
      return { name, body: packed.subarray(0, at % packed.length) };
    });
    const random = fc.record({
      name: fc.oneof(encoding, fc.constantFrom('', 'x-gzip', 'gzip, gzip', 'GZIP', 'constructor', '*')),
      body: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.oneof(cut, random), async ({ name, body }) => {
        expectTokenError(await post(body, FORM, `content-encoding: ${name}`));
      }),
      { numRuns: times(100) },
    );
  });
});
