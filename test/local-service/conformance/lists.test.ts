import { beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { useFixture } from '../../support/fixtures.ts';
import { apiRefusal, outcomeOf, success } from '../../support/local-service/expectations.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { idsOf, type ListPage } from '../../support/local-service/requests.ts';

const { fixture, service } = useLocalService();
const WORKSPACES = '/api/public/v1/workspaces';
const AN_ITEM: unknown = expect.objectContaining({ id: expect.any(String) });

let token: string;
beforeAll(async () => {
  token = (await service.newTokens()).access_token;
});

const list = (query: string, server = service) => server.getApi(`/workspaces?${query}`, token);
const workspacesPage = async (query: string) => (await list(query)).body as ListPage;
const items = (count: number): unknown[] => Array.from({ length: count }, () => AN_ITEM);

test('2 list value: `value` is an array of the items on the page, and is always present', async () => {
  expect(await workspacesPage('limit=3')).toEqual({ value: items(3), next: expect.any(String) });
  const empty = await fixture.start({ workspaces: 0 });
  expect(outcomeOf(await list('', empty))).toEqual(success({ value: [] }));
});

test('2 list next: `next` is an opaque string, absent from the last page', async () => {
  const { next = '' } = await workspacesPage('limit=100');
  expect(next).toMatch(/^.{20,}$/);
  const last = await workspacesPage(`limit=100&next=${encodeURIComponent(next)}`);
  expect(last).toEqual({ value: items(37) });
  for (const guess of ['', '2', '100', next.slice(1), next.toLowerCase()]) {
    const res = await list(`limit=100&next=${encodeURIComponent(guess)}`);
    expect(outcomeOf(res)).toEqual(apiRefusal(400, 'PAGINATION_INVALID'));
  }
});

test('4.4 method and path: `GET /api/public/v1/workspaces`', async () => {
  const send = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) =>
    request(service)[method](path).set('authorization', `Bearer ${token}`);
  for (const method of ['post', 'put', 'patch', 'delete'] as const) {
    const res = await send(method, WORKSPACES);
    expect(outcomeOf(res)).toEqual(apiRefusal(405, 'METHOD_NOT_ALLOWED'));
    expect(res.get('allow')).toBe('GET, HEAD');
  }
  for (const path of [`${WORKSPACES}/`, '/api/public/v1/Workspaces', '/api/public/v1/workspace']) {
    expect(outcomeOf(await send('get', path))).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
  }
  expect((await send('get', WORKSPACES)).status).toBe(200);
});

test('4.4 header: `Authorization: Bearer <ACCESS_TOKEN>`', async () => {
  const send = async (headers: Record<string, string>) =>
    outcomeOf(await request(service).get(WORKSPACES).set(headers));
  expect(await send({})).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
  for (const authorization of [token, 'Bearer', `Basic ${token}`, `Bearer ${token} ${token}`]) {
    expect(await send({ authorization })).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
  }
  expect(await send({ authorization: 'Bearer never-issued' })).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  expect(await send({ authorization: `Bearer ${token}` })).toMatchObject({ status: 200 });
});

test('4.4 limit: optional integer, the maximum number of items on a page; the default is at most 100', async () => {
  for (const limit of [1, 7, 100])
    expect((await workspacesPage(`limit=${limit}`)).value).toEqual(items(limit));
  const four = await fixture.start({ workspaces: 4 });
  expect(outcomeOf(await list('limit=5', four))).toEqual(success({ value: items(4) }));
  for (const limit of ['', '0', '-1', '1.5', 'ten', '1e1', '0x10', '%D9%A3', '101', '5&limit=5']) {
    expect(outcomeOf(await list(`limit=${limit}`))).toEqual(apiRefusal(400, 'LIMIT_INVALID'));
  }
  expect((await workspacesPage('')).value).toEqual(items(25));
});

test('4.4 next: optional; the cursor from the previous response', async () => {
  const first = await workspacesPage('limit=2');
  const second = await workspacesPage(`limit=2&next=${first.next}`);
  expect([...first.value, ...second.value]).toEqual((await workspacesPage('limit=4')).value);
});

test('4.4 response: the list envelope', async () => {
  expect(outcomeOf(await list('limit=2'))).toEqual(success({ value: items(2), next: expect.any(String) }));
  const two = await fixture.start({ workspaces: 2 });
  expect(outcomeOf(await list('limit=2', two))).toEqual(success({ value: items(2) }));
});

const LIMIT = 10;
const NEXT: unknown = expect.any(String);

/** Paths of lists that have more than two pages of 10 items and fit on one page of 100. */
let lists: string[];
const few = useFixture(async () => fixture.start({ workspaces: 40 }));
beforeAll(async () => {
  const [id] = idsOf([await pageOf('/workspaces')]);
  lists = ['/workspaces', `/workspaces/${id}/rooms`, `/workspaces/${id}/murals`];
});

const get = (path: string) => few.getApi(path, token);
const pageOf = async (path: string) => (await get(path)).body as ListPage;
/** Resolves with all items in a list that fits on one page. */
const wholeOf = async (path: string) => (await pageOf(`${path}?limit=100`)).value;

test('4.5 rule 1: items are in `value`; `next` holds a cursor if and only if more items remain', async () => {
  for (const path of lists) {
    const count = (await wholeOf(path)).length;
    expect(count).toBeGreaterThan(2 * LIMIT);
    let read = 0;
    for (const page of await few.readPages(path, token, LIMIT)) {
      read += page.value.length;
      expect(page).toEqual({ value: page.value, ...(read < count && { next: NEXT }) });
    }
    expect(read).toBe(count);
  }
});

test('4.5 rule 2: the same request with `next` returns the following page', async () => {
  for (const path of lists) {
    const whole = await wholeOf(path);
    const { next = '' } = await pageOf(`${path}?limit=${LIMIT}`);
    const second = await pageOf(`${path}?limit=${LIMIT}&next=${encodeURIComponent(next)}`);
    expect(second.value).toEqual(whole.slice(LIMIT, 2 * LIMIT));
    const pages = await few.readPages(path, token, LIMIT);
    expect(pages.flatMap((page) => page.value)).toEqual(whole);
  }
});

test('4.5 rule 3: `next` is absent from the last page, even if that page is full or empty', async () => {
  for (const path of lists) {
    const whole = await wholeOf(path);
    expect(outcomeOf(await get(`${path}?limit=${whole.length}`))).toEqual(success({ value: whole }));
  }
  const [, last] = await few.readPages('/workspaces', token, 20);
  expect(last).toEqual({ value: (await wholeOf('/workspaces')).slice(20) });
  const empty = await fixture.start({ workspaces: 0 });
  expect(outcomeOf(await empty.getApi('/workspaces', token))).toEqual(success({ value: [] }));
});

test('4.5 rule 4: each request with `next` must repeat the `limit` of the first request', async () => {
  for (const path of lists) {
    let next = (await pageOf(`${path}?limit=${LIMIT}`)).next ?? '';
    for (const page of [2, 3]) {
      for (const limit of ['', `limit=${LIMIT - 1}&`, `limit=${LIMIT + 1}&`, 'limit=100&']) {
        const res = await get(`${path}?${limit}next=${next}`);
        expect(outcomeOf(res)).toEqual(apiRefusal(400, 'PAGINATION_INVALID'));
      }
      const same = await pageOf(`${path}?limit=${LIMIT}&next=${next}`);
      expect(same.value).toEqual((await wholeOf(path)).slice((page - 1) * LIMIT, page * LIMIT));
      next = same.next ?? '';
    }
  }
});

test('4.5 rule 5: the lists inside a workspace are also paginated', async () => {
  const [one, other] = idsOf([await pageOf('/workspaces')]);
  for (const kind of ['rooms', 'murals']) {
    const path = (id: string | undefined) => `/workspaces/${id}/${kind}`;
    expect(outcomeOf(await get(`${path(one)}?limit=1`))).toEqual(
      success({ value: [expect.any(Object)], next: expect.any(String) }),
    );
    const ids = idsOf(await few.readPages(path(one), token, 7));
    expect(ids).toEqual(idsOf(await few.readPages(path(one), token)));
    expect(ids).not.toEqual(expect.arrayContaining(idsOf([await pageOf(path(other))]).slice(0, 1)));
    expect(outcomeOf(await get(path('workspace1')))).toEqual(apiRefusal(404, 'WORKSPACE_NOT_FOUND'));
  }
});
