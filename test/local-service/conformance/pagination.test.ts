import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiRefusal, outcomeOf, success } from '../../support/local-service/answers.ts';
import { idsOn, walk } from '../../support/local-service/list-walk.ts';
import type { AnyPage } from '../../support/local-service/list-walk.ts';
import { openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import { callApi, newTokens } from '../../support/local-service/token-calls.ts';

const LIMIT = 10;
const NEXT: unknown = expect.any(String);

let bench: Bench;
let service: Server;
let token: string;
/** Of more than two pages each, and all within one of 100. */
let lists: string[];
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ workspaces: 40 });
  token = (await newTokens(service)).access_token;
  const [id] = idsOn([await pageOf('/workspaces')]).map(String);
  lists = ['/workspaces', `/workspaces/${id}/rooms`, `/workspaces/${id}/murals`];
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const get = (path: string) => callApi(service, path, token);
const pageOf = async (path: string) => (await get(path)).body as AnyPage;
/** All items of a list: in one page there is nothing to put together. */
const wholeOf = async (path: string) => (await pageOf(`${path}?limit=100`)).value;

test('4.5 rule 1: items are in `value`; a token is in `next` if and only if more remain', async () => {
  for (const list of lists) {
    const count = (await wholeOf(list)).length;
    expect(count).toBeGreaterThan(2 * LIMIT);
    let read = 0;
    for (const page of await walk(service, list, token, LIMIT)) {
      read += page.value.length;
      expect(page).toEqual({ value: page.value, ...(read < count && { next: NEXT }) });
    }
    expect(read).toBe(count);
  }
});

test('4.5 rule 2: the same request with `next` gives the page that follows', async () => {
  for (const list of lists) {
    const whole = await wholeOf(list);
    const { next = '' } = await pageOf(`${list}?limit=${LIMIT}`);
    const second = await pageOf(`${list}?limit=${LIMIT}&next=${encodeURIComponent(next)}`);
    expect(second.value).toEqual(whole.slice(LIMIT, 2 * LIMIT));
    const pages = await walk(service, list, token, LIMIT);
    expect(pages.flatMap((page) => page.value)).toEqual(whole);
  }
});

test('4.5 rule 3: `next` is absent from the last page, even one that is full or empty', async () => {
  for (const list of lists) {
    const whole = await wholeOf(list);
    expect(outcomeOf(await get(`${list}?limit=${whole.length}`))).toEqual(success({ value: whole }));
  }
  const [, last] = await walk(service, '/workspaces', token, 20);
  expect(last).toEqual({ value: (await wholeOf('/workspaces')).slice(20) });
  const empty = await bench.start({ workspaces: 0 });
  expect(outcomeOf(await callApi(empty, '/workspaces', token))).toEqual(success({ value: [] }));
});

test('4.5 rule 4: a `limit` of the first request must come again, the same, with each `next`', async () => {
  for (const list of lists) {
    let next = (await pageOf(`${list}?limit=${LIMIT}`)).next ?? '';
    for (const page of [2, 3]) {
      for (const limit of ['', `limit=${LIMIT - 1}&`, `limit=${LIMIT + 1}&`, 'limit=100&']) {
        const res = await get(`${list}?${limit}next=${next}`);
        expect(outcomeOf(res)).toEqual(apiRefusal(400, 'PAGINATION_INVALID'));
      }
      const same = await pageOf(`${list}?limit=${LIMIT}&next=${next}`);
      expect(same.value).toEqual((await wholeOf(list)).slice((page - 1) * LIMIT, page * LIMIT));
      next = same.next ?? '';
    }
  }
});

test('4.5 rule 5: the items in a workspace are paginated too', async () => {
  const [one, other] = idsOn([await pageOf('/workspaces')]).map(String);
  for (const kind of ['rooms', 'murals']) {
    const path = (id: string | undefined) => `/workspaces/${id}/${kind}`;
    expect(outcomeOf(await get(`${path(one)}?limit=1`))).toEqual(
      success({ value: [expect.any(Object)], next: expect.any(String) }),
    );
    const ids = idsOn(await walk(service, path(one), token, 7));
    expect(ids).toEqual(idsOn(await walk(service, path(one), token)));
    expect(ids).not.toEqual(expect.arrayContaining(idsOn([await pageOf(path(other))]).slice(0, 1)));
    expect(outcomeOf(await get(path('workspace1')))).toEqual(apiRefusal(404, 'WORKSPACE_NOT_FOUND'));
  }
});
