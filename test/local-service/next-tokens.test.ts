import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiRefusal, outcomeOf } from '../support/local-service/answers.ts';
import type { AnyPage } from '../support/local-service/list-walk.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { callApi, newTokens } from '../support/local-service/token-calls.ts';
import { BASE64URL } from './mangling.ts';

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

const answerTo = async (path: string) => outcomeOf(await get(path));

const INVALID = apiRefusal(400, 'PAGINATION_INVALID');

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
  test('without the limit of the first request, even where that was the default', async () => {
    expect(await answerTo(`/workspaces?next=${await nextOf('/workspaces?limit=25')}`)).toEqual(INVALID);
  });

  test('with a limit where the first request had none', async () => {
    expect(await answerTo(`/workspaces?limit=25&next=${await nextOf('/workspaces')}`)).toEqual(INVALID);
  });

  test('on another list', async () => {
    const { value } = (await get('/workspaces?limit=1')).body as AnyPage;
    const next = await nextOf('/workspaces?limit=1');
    expect(await answerTo(`/workspaces/${String(value[0]?.['id'])}/rooms?limit=1&next=${next}`)).toEqual(
      INVALID,
    );
  });

  test('from another user', async () => {
    const guest = (await newTokens(service, undefined, 'guest')).access_token;
    const next = await nextOf('/workspaces?limit=2', service, guest);
    expect(await answerTo(`/workspaces?limit=2&next=${next}`)).toEqual(INVALID);
  });

  test('after an hour, by a code of its own', async () => {
    const next = await nextOf('/workspaces');
    bench.clock.time += 3_600_000;
    expect(await answerTo(`/workspaces?next=${next}`)).toEqual(apiRefusal(400, 'NEXT_TOKEN_EXPIRED'));
  });

  test('when it is repeated', async () => {
    const next = await nextOf('/workspaces');
    expect(await answerTo(`/workspaces?next=${next}&next=${next}`)).toEqual(INVALID);
  });

  test('when it is very long', async () => {
    expect(await answerTo(`/workspaces?next=${'A'.repeat(8_000)}`)).toEqual(INVALID);
  });
});

test('a token is taken in its one spelling only, whatever its length', async () => {
  for (const limit of [1, 10, 100]) {
    const path = `/workspaces?limit=${limit}`;
    const next = await nextOf(path);
    // Base64 leaves up to four bits of the last character unused: some of these decode to the same bytes.
    const others = BASE64URL.map((last) => next.slice(0, -1) + last).filter((text) => text !== next);
    for (const text of others) {
      expect(await answerTo(`${path}&next=${text}`)).toEqual(INVALID);
    }
  }
});
