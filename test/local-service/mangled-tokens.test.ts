import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { expectApiError } from '../support/local-service/clean-answers.ts';
import { idsOn, walk } from '../support/local-service/list-walk.ts';
import { callRaw } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { newTokens } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { credentialsIn } from './credentials-header.ts';
import { HEADER_BYTE, mangled } from './mangling.ts';

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

const tokenIn = (header: string) => credentialsIn(header, 'Bearer');
const isGood = (header: string) => tokenIn(header) === token;

async function expectRefused(path: string, header: string): Promise<void> {
  const answer = await callRaw(service, `GET /api/public/v1${path.replace('ID', id)}`, [
    `authorization: ${header}`,
  ]);
  const hasToken = tokenIn(header) !== undefined;
  expectApiError(answer, 401, hasToken ? 'TOKEN_INVALID' : 'UNAUTHORIZED');
  expect(answer.get('www-authenticate')).toBe(hasToken ? 'Bearer error="invalid_token"' : 'Bearer');
}

test.each(['/workspaces', '/workspaces/ID', '/workspaces/ID/rooms', '/workspaces/ID/murals'])(
  'no mangled access token opens %s',
  async (path) => {
    const header = mangled(token, HEADER_BYTE)
      .map((text) => `Bearer ${text}`)
      .filter((text) => !isGood(text));
    await fc.assert(
      fc.asyncProperty(header, (text) => expectRefused(path, text)),
      { numRuns: times(75) },
    );
  },
);

test('no mangled Authorization header, and no other, opens a list', async () => {
  const header = mangled(`Bearer ${token}`, HEADER_BYTE).filter((text) => !isGood(text));
  await fc.assert(
    fc.asyncProperty(header, (text) => expectRefused('/workspaces', text)),
    { numRuns: times(150) },
  );
});
