import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyPage } from './list-walk.ts';
import { openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { callApi, newTokens } from './token-calls.ts';

let bench: Bench;
let service: Server;
let token: string;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ accessTokenSeconds: 7_200 });
  token = (await newTokens(service)).access_token;
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const get = (path: string) => callApi(service, path, token);

async function nextOf(path: string, server = service, accessToken = token): Promise<string> {
  const { next } = (await callApi(server, path, accessToken)).body as AnyPage;
  if (next === undefined) throw new Error(`${path} is one page only.`);
  return next;
}

async function outcomeOf(path: string) {
  const res = await get(path);
  return { status: res.status, body: res.body as unknown };
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('');

const refusal = (code: string) => ({
  status: 400,
  body: { code, message: expect.stringMatching(/.+/), details: [] },
});
const INVALID = refusal('PAGINATION_INVALID');

test('a token needs no encoding in an address', async () => {
  expect(await nextOf('/workspaces')).toMatch(/^[\w-]+$/);
});

test('two tokens for the same page have nothing in common', async () => {
  const [one, other] = [await nextOf('/workspaces'), await nextOf('/workspaces')];
  expect(one.slice(0, 8)).not.toBe(other.slice(0, 8));
});

test('a token can be used twice: a reload is no fault', async () => {
  const next = await nextOf('/workspaces?limit=10');
  const [one, other] = [
    await get(`/workspaces?limit=10&next=${next}`),
    await get(`/workspaces?limit=10&next=${next}`),
  ];
  expect((one.body as AnyPage).value).toEqual((other.body as AnyPage).value);
});

describe('a token is refused', () => {
  test('with another limit', async () => {
    expect(await outcomeOf(`/workspaces?limit=11&next=${await nextOf('/workspaces?limit=10')}`)).toEqual(
      INVALID,
    );
  });

  test('without the limit of the first request', async () => {
    expect(await outcomeOf(`/workspaces?next=${await nextOf('/workspaces?limit=10')}`)).toEqual(INVALID);
  });

  test('without it even where it was the default', async () => {
    expect(await outcomeOf(`/workspaces?next=${await nextOf('/workspaces?limit=25')}`)).toEqual(INVALID);
  });

  test('with a limit where the first request had none', async () => {
    expect(await outcomeOf(`/workspaces?limit=25&next=${await nextOf('/workspaces')}`)).toEqual(INVALID);
  });

  test('on another list', async () => {
    const { value } = (await get('/workspaces?limit=1')).body as AnyPage;
    const next = await nextOf('/workspaces?limit=1');
    expect(await outcomeOf(`/workspaces/${String(value[0]?.['id'])}/rooms?limit=1&next=${next}`)).toEqual(
      INVALID,
    );
  });

  test('from another user', async () => {
    const guest = (await newTokens(service, undefined, 'guest')).access_token;
    const next = await nextOf('/workspaces?limit=2', service, guest);
    expect(await outcomeOf(`/workspaces?limit=2&next=${next}`)).toEqual(INVALID);
  });

  test('after an hour, by a code of its own', async () => {
    const next = await nextOf('/workspaces');
    bench.clock.time += 3_600_000;
    expect(await outcomeOf(`/workspaces?next=${next}`)).toEqual(refusal('NEXT_TOKEN_EXPIRED'));
  });

  test('when it is repeated', async () => {
    const next = await nextOf('/workspaces');
    expect(await outcomeOf(`/workspaces?next=${next}&next=${next}`)).toEqual(INVALID);
  });

  test('when it is empty', async () => {
    expect(await outcomeOf('/workspaces?next=')).toEqual(INVALID);
  });

  test('when it is very long', async () => {
    expect(await outcomeOf(`/workspaces?next=${'A'.repeat(8_000)}`)).toEqual(INVALID);
  });
});

test('a token is taken in its one spelling only, whatever its length', async () => {
  for (const limit of [1, 10, 100]) {
    const path = `/workspaces?limit=${limit}`;
    const next = await nextOf(path);
    // Base64 leaves up to four bits of the last character unused: some of these decode to the same bytes.
    const others = ALPHABET.map((last) => next.slice(0, -1) + last).filter((text) => text !== next);
    for (const text of others) {
      expect(await outcomeOf(`${path}&next=${text}`)).toEqual(INVALID);
    }
  }
});

test('a second process takes the tokens of the first', async () => {
  const second = await bench.start();
  const next = await nextOf('/workspaces?limit=40');
  const res = await callApi(second, `/workspaces?limit=40&next=${next}`, token);
  expect((res.body as AnyPage).value).toHaveLength(40);
});
