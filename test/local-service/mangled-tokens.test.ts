import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { expectApiError } from './clean-answers.ts';
import { idsOn, walk } from './list-walk.ts';
import { HEADER_BYTE, mangled } from './mangling.ts';
import { sendRaw } from './raw-call.ts';
import { openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { newTokens } from './token-calls.ts';

let bench: Bench;
let service: Server;
let token: string;
let id: string;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
  token = (await newTokens(service)).access_token;
  id = String(idsOn(await walk(service, '/workspaces', token))[0]);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

/** Node takes the blanks around a header's value away. */
const trim = (header: string) => header.replaceAll(/^[ \t]+|[ \t]+$/g, '');
const isGood = (header: string) => /^bearer +(?<rest>.*)$/i.exec(trim(header))?.groups?.['rest'] === token;
/** RFC 6750 §2.1. */
const hasToken = (header: string) => /^bearer +[\w\-.~+/]+=*$/i.test(trim(header));

async function expectRefused(path: string, header: string): Promise<void> {
  const answer = await sendRaw(service, `GET /api/public/v1${path.replace('ID', id)}`, [
    `authorization: ${header}`,
  ]);
  expectApiError(answer, 401, hasToken(header) ? 'TOKEN_INVALID' : 'UNAUTHORIZED');
  expect(answer.get('www-authenticate')).toBe(hasToken(header) ? 'Bearer error="invalid_token"' : 'Bearer');
}

test.each(['/workspaces', '/workspaces/ID', '/workspaces/ID/rooms', '/workspaces/ID/murals'])(
  'no mangled access token opens %s',
  async (path) => {
    const header = mangled(token, HEADER_BYTE)
      .map((text) => `Bearer ${text}`)
      .filter((text) => !isGood(text));
    await fc.assert(
      fc.asyncProperty(header, (text) => expectRefused(path, text)),
      { numRuns: 75 },
    );
  },
);

test('no mangled Authorization header, and no other, opens a list', async () => {
  const header = mangled(`Bearer ${token}`, HEADER_BYTE).filter((text) => !isGood(text));
  await fc.assert(
    fc.asyncProperty(header, (text) => expectRefused('/workspaces', text)),
    { numRuns: 150 },
  );
});
