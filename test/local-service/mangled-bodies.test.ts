import type { Server } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../support/constants.ts';
import { expectStatus, expectTokenError } from '../support/local-service/clean-answers.ts';
import { FORM, postRaw } from '../support/local-service/raw-call.ts';
import type { Answer } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { newTokens, refreshFields } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { BYTE, mangled } from './mangling.ts';

const LARGEST = 16_384;

let bench: Bench;
let services: { strict: Server; compat: Server };
let fields: Record<string, string>;
let valid: string;
beforeAll(async () => {
  bench = await openBench();
  services = { strict: await bench.start(), compat: await bench.start({ compat: true }) };
  fields = refreshFields((await newTokens(services.strict)).refresh_token);
  valid = new URLSearchParams(fields).toString();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const INVALID_REQUEST = ['invalid_request'];
const toBytes = (text: string) => Buffer.from(text, 'latin1');

/**
 * Whether the body, by a URL parser, says what the good one does and nothing twice. The `&` before it says nothing,
 * but keeps URLSearchParams from dropping a first `?`, which belongs to a form's first name.
 */
function isGood(body: string): boolean {
  const said = new URLSearchParams(`&${toBytes(body).toString()}`);
  const names = [...said.keys()];
  return (
    new Set(names).size === names.length &&
    Object.entries(fields).every(([name, value]) => said.get(name) === value)
  );
}

describe.each(['strict', 'compat'] as const)('%s', (mode) => {
  const post = (body: Uint8Array, type = FORM, ...headers: string[]): Promise<Answer> =>
    postRaw(services[mode], TOKEN_PATH, body, type, ...headers);

  test('a body with any one place mangled is refused, unless it says the same', async () => {
    await fc.assert(
      fc.asyncProperty(mangled(valid, BYTE), async (body) => {
        const answer = await post(toBytes(body));
        if (isGood(body)) expectStatus(answer, 200);
        else expectTokenError(answer);
      }),
      { numRuns: times(150) },
    );
  });

  test('no bytes and no encodings whatever are a token request', async () => {
    const piece = fc.constantFrom(
      ...[
        '%',
        '%0',
        '%00',
        '%zz',
        '%c3%28',
        '%ff',
        '%ed%a0%80',
        '&',
        '=',
        ';',
        '+',
        '[]',
        '[a]',
        '\0',
        '\xff',
        '.',
      ],
      ...[
        'client_id',
        'client_secret',
        'grant_type',
        'refresh_token',
        '__proto__',
        'constructor',
        'prototype',
      ],
    );
    const pieces = fc.array(piece, { maxLength: 40 }).map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(fc.oneof(pieces, fc.string({ unit: BYTE, maxLength: 500 })), async (body) => {
        expectTokenError(await post(toBytes(body)), ['invalid_request', 'invalid_client']);
      }),
      { numRuns: times(150) },
    );
  });

  test('a field of any other name is ignored, and refused when it comes twice', async () => {
    const name = fc
      .oneof(
        fc.constantFrom('__proto__', 'constructor', 'toString', 'length', 'scope'),
        fc.string({ unit: 'binary' }),
      )
      .filter((text) => !Object.hasOwn(fields, text));
    await fc.assert(
      fc.asyncProperty(name, fc.string({ unit: 'binary' }), async (other, value) => {
        const field = new URLSearchParams([[other, value]]).toString();
        expect((await post(toBytes(`${field}&${valid}`))).status).toBe(200);
        expectTokenError(await post(toBytes(`${field}&${valid}&${field}`)), INVALID_REQUEST);
      }),
      { numRuns: times(50) },
    );
  });

  test('up to 16 KiB a body is taken, and from there on refused', async () => {
    const size = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -9_000, max: 400_000 }));
    await fc.assert(
      fc.asyncProperty(size, async (beyond) => {
        const body = toBytes(`${valid}&x=`.padEnd(LARGEST + beyond, 'x'));
        for (const [sent, ...headers] of [[body], [gzipSync(body), 'content-encoding: gzip']] as const) {
          const answer = await post(sent, FORM, ...headers);
          if (beyond <= 0) expectStatus(answer, 200);
          else expectTokenError(answer, INVALID_REQUEST);
        }
      }),
      { numRuns: times(20) },
    );
  });
});
