import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { expectApiError, expectStatus } from '../support/local-service/clean-answers.ts';
import { idsOn, walk } from '../support/local-service/list-walk.ts';
import type { AnyPage } from '../support/local-service/list-walk.ts';
import { callRaw } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { callApi, newTokens } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { TARGET_BYTE, mangled } from './mangling.ts';

const API = '/api/public/v1';
const LISTS = ['/workspaces', '/workspaces/ID/rooms', '/workspaces/ID/murals'];

let bench: Bench;
let service: Server;
let token: string;
/** A workspace with rooms and murals enough for two pages. */
let id: string;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
  token = (await newTokens(service)).access_token;
  id = await findFullWorkspace();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const get = (path: string, query: Record<string, string> = {}) =>
  callApi(service, `${path.replace('ID', id)}?${new URLSearchParams(query).toString()}`, token);

const getRaw = (target: string) =>
  callRaw(service, `GET ${API}${target}`, [`authorization: Bearer ${token}`]);

async function findFullWorkspace(): Promise<string> {
  for (const found of idsOn(await walk(service, '/workspaces', token)).map(String)) {
    const lists = ['rooms', 'murals'].map((kind) => walk(service, `/workspaces/${found}/${kind}`, token, 10));
    if ((await Promise.all(lists)).every((pages) => pages.length > 1)) return found;
  }
  throw new Error('No workspace is large enough.');
}

async function nextOf(path: string, limit: string): Promise<string> {
  return ((await get(path, { limit })).body as AnyPage).next ?? '';
}

/** Each in its one spelling. */
const LIMITS: ReadonlySet<string> = new Set(Array.from({ length: 100 }, (_, index) => String(index + 1)));
const isLimit = (text: string) => LIMITS.has(text);

describe.each(LISTS)('%s', (path) => {
  test('no mangled next token, and no other text, passes for one', async () => {
    const next = await nextOf(path, '10');
    await fc.assert(
      fc.asyncProperty(mangled(next), async (text) => {
        expectApiError(await get(path, { limit: '10', next: text }), 400, 'PAGINATION_INVALID');
      }),
      { numRuns: times(100) },
    );
  });

  test('no mangled limit, and no other text, passes for one', async () => {
    const mangledLimit = mangled('10').filter((text) => !isLimit(text));
    await fc.assert(
      fc.asyncProperty(mangledLimit, async (limit) => {
        expectApiError(await get(path, { limit }), 400, 'LIMIT_INVALID');
      }),
      { numRuns: times(50) },
    );
  });

  test('a next token is good with its own limit only', async () => {
    const next = await nextOf(path, '10');
    const other = fc
      .oneof(mangled('10'), fc.integer({ min: 1, max: 100 }).map(String))
      .filter((text) => text !== '10');
    await fc.assert(
      fc.asyncProperty(other, async (limit) => {
        expectApiError(
          await get(path, { limit, next }),
          400,
          isLimit(limit) ? 'PAGINATION_INVALID' : 'LIMIT_INVALID',
        );
      }),
      { numRuns: times(50) },
    );
  });

  test('a query with any one place mangled is refused, unless it says something good', async () => {
    const next = await nextOf(path, '10');
    const whole = new URLSearchParams({ limit: '10', next }).toString();
    await fc.assert(
      fc.asyncProperty(mangled(whole, TARGET_BYTE), async (query) => {
        const said = new URLSearchParams(`?${query}`); // which drops one question mark, and only one
        const [limits, tokens] = [said.getAll('limit'), said.getAll('next')];
        const answer = await getRaw(`${path.replace('ID', id)}?${query}`);
        if (limits.length > 1 || !limits.every(isLimit)) expectApiError(answer, 400, 'LIMIT_INVALID');
        else if (tokens.length > 0 && (limits[0] !== '10' || tokens.join() !== next)) {
          expectApiError(answer, 400, 'PAGINATION_INVALID');
        } else expectStatus(answer, 200);
      }),
      { numRuns: times(100) },
    );
  });
});
