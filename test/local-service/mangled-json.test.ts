import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../support/constants.ts';
import { expectStatus, expectTokenError } from '../support/local-service/clean-answers.ts';
import { postRaw } from '../support/local-service/raw-call.ts';
import type { Answer } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { newTokens, refreshFields } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { BYTE, mangled } from './mangling.ts';

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

describe('a JSON body', () => {
  const post = (body: string): Promise<Answer> =>
    postRaw(compat, TOKEN_PATH, Buffer.from(body, 'latin1'), 'application/json');
  const toUtf8 = (text: string) => Buffer.from(text).toString('latin1');

  function isGood(body: string): boolean {
    try {
      const said = JSON.parse(Buffer.from(body, 'latin1').toString()) as Record<string, unknown> | null;
      return Object.entries(fields).every(([name, value]) => said?.[name] === value);
    } catch {
      return false;
    }
  }

  test('with any one place mangled is refused, unless it says the same', async () => {
    await fc.assert(
      fc.asyncProperty(mangled(JSON.stringify(fields), BYTE), async (body) => {
        const answer = await post(body);
        if (isGood(body)) expectStatus(answer, 200);
        else expectTokenError(answer);
      }),
      { numRuns: times(150) },
    );
  });

  test('of any other value is refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json({ stringUnit: 'binary' }), async (body) => {
        expectTokenError(await post(toUtf8(body)), ['invalid_request', 'invalid_client']);
      }),
      { numRuns: times(150) },
    );
  });

  test('with any value but its own in one field is refused', async () => {
    const change = fc
      .tuple(fc.constantFrom(...Object.keys(fields)), fc.oneof(fc.jsonValue(), fc.constant([[{}]])))
      .filter(([name, value]) => value !== fields[name]);
    await fc.assert(
      fc.asyncProperty(change, async ([name, value]) => {
        // null is as good as absent.
        const wanted = typeof value === 'string' || value === null ? undefined : ['invalid_request'];
        expectTokenError(await post(toUtf8(JSON.stringify({ ...fields, [name]: value }))), wanted);
      }),
      { numRuns: times(100) },
    );
  });

  test('with more members, of whatever name and value, is taken as if without them', async () => {
    const name = fc
      .oneof(fc.constantFrom('__proto__', 'constructor', 'toJSON', 'length'), fc.string({ unit: 'binary' }))
      .filter((text) => !Object.hasOwn(fields, text));
    await fc.assert(
      fc.asyncProperty(name, fc.json(), async (other, json) => {
        const whole = `{${JSON.stringify(other)}:${json},${JSON.stringify(fields).slice(1)}`;
        expect((await post(toUtf8(whole))).status).toBe(200);
      }),
      { numRuns: times(50) },
    );
  });

  test('as deep as 16 KiB can be, and deeper, is refused', async () => {
    const [opening, depth] = [
      fc.constantFrom('[', '{"a":', '{"client_id":', '{"__proto__":'),
      fc.nat(20_000),
    ];
    await fc.assert(
      fc.asyncProperty(opening, depth, fc.boolean(), async (open, count, isClosed) => {
        const close = open === '[' ? ']' : '}';
        expectTokenError(await post(open.repeat(count) + (isClosed ? `1${close.repeat(count)}` : '')));
      }),
      { numRuns: times(30) },
    );
  });

  test('that names a field twice is judged by the last', async () => {
    const name = fc.constantFrom(...Object.keys(fields));
    await fc.assert(
      fc.asyncProperty(name, mangled('another'), async (field, text) => {
        const member = JSON.stringify({ [field]: text }).slice(1, -1);
        const members = JSON.stringify(fields).slice(1, -1);
        expect((await post(toUtf8(`{${member},${members}}`))).status).toBe(200);
        expectTokenError(await post(toUtf8(`{${members},${member}}`)));
      }),
      { numRuns: times(40) },
    );
  });
});
