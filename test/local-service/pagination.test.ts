import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Items } from '../../src/local-service/pagination.ts';
import { muralsIn, roomsIn } from '../../src/local-service/seed/items.ts';
import { createSeedWorkspaces } from '../../src/local-service/seed/workspaces.ts';
import { useFixture } from '../support/fixtures.ts';
import { BASE64URL, forAll } from '../support/local-service/altered.ts';
import { apiRefusal, outcomeOf } from '../support/local-service/expectations.ts';
import { useLocalService, type LocalService } from '../support/local-service/fixture.ts';
import { idsOf, type ListPage } from '../support/local-service/requests.ts';
import { fc } from '../support/properties.ts';

const { fixture, service } = useLocalService({ accessTokenSeconds: 7_200 });
const second = useFixture(async () => fixture.start());
let token: string;
beforeAll(async () => {
  token = (await service.newTokens()).access_token;
});

const get = (path: string) => service.getApi(path, token);

test('the response for a single workspace has no next and includes the creator', async () => {
  const [listed] = ((await get('/workspaces?limit=1')).body as ListPage).value;
  const res = await get(`/workspaces/${String(listed?.['id'])}`);
  expect(res.body).toEqual({
    value: { ...listed, createdBy: expect.objectContaining({ id: expect.any(String) }) },
  });
  expect(listed).not.toHaveProperty('createdBy');
});

async function nextOf(path: string, accessToken = token): Promise<string> {
  const { next } = (await service.getApi(path, accessToken)).body as ListPage;
  if (next === undefined) throw new Error(`${path} has only one page.`);
  return next;
}

const outcomeAt = async (path: string) => outcomeOf(await get(path));

const INVALID = apiRefusal(400, 'PAGINATION_INVALID');

test('two cursors for the same page look unrelated and need no encoding in a URL', async () => {
  const [one, other] = [await nextOf('/workspaces'), await nextOf('/workspaces')];
  expect(one).toMatch(/^[\w-]+$/);
  expect(one.slice(0, 8)).not.toBe(other.slice(0, 8));
});

describe('invalid cursors', () => {
  test.each([
    ['without the limit of the first request, even if that is the default', '?limit=25', '?'],
    ['with a limit if the first request had none', '', '?limit=25&'],
    ['for another list', '?limit=1', '/ID/rooms?limit=1&'],
  ])('a cursor is refused %s', async (_name, first, following) => {
    const [id = ''] = idsOf([(await get('/workspaces')).body as ListPage]);
    const next = await nextOf(`/workspaces${first}`);
    expect(await outcomeAt(`/workspaces${following.replace('ID', id)}next=${next}`)).toEqual(INVALID);
  });

  test('a cursor is refused if it was issued to another user', async () => {
    const guest = (await service.newTokens(undefined, 'guest')).access_token;
    const next = await nextOf('/workspaces?limit=2', guest);
    expect(await outcomeAt(`/workspaces?limit=2&next=${next}`)).toEqual(INVALID);
  });

  test('a cursor is refused after an hour, with a specific error code', async () => {
    const next = await nextOf('/workspaces');
    fixture.clock.time += 3_600_000;
    expect(await outcomeAt(`/workspaces?next=${next}`)).toEqual(apiRefusal(400, 'NEXT_TOKEN_EXPIRED'));
  });

  test('a cursor is refused if the request contains it twice', async () => {
    const next = await nextOf('/workspaces');
    expect(await outcomeAt(`/workspaces?next=${next}&next=${next}`)).toEqual(INVALID);
  });

  test('a cursor is refused if the same bytes are encoded differently', async () => {
    // Base64 leaves up to four bits of the last character unused, depending on the length.
    for (const limit of [1, 10, 100]) {
      const next = await nextOf(`/workspaces?limit=${limit}`);
      const others = BASE64URL.map((last) => next.slice(0, -1) + last).filter((text) => text !== next);
      for (const text of others) {
        expect(await outcomeAt(`/workspaces?limit=${limit}&next=${text}`)).toEqual(INVALID);
      }
    }
  });
});

const LIMIT = fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined });
/** For each page, the process that serves it first. The other process then serves the same page. */
const TURNS = fc.array(fc.nat(1), { minLength: 1, maxLength: 5 });

const NEXT: unknown = expect.any(String);

const all = <T>(items: Items<T>): T[] => Array.from({ length: items.count }, (_, index) => items.at(index));

/** Reads a page from both processes and checks that the items are the same. Resolves with the first response. */
async function readTwice(servers: readonly LocalService[], turn: number, path: string): Promise<ListPage> {
  const responses = [];
  for (const which of [turn, 1 - turn])
    responses.push(await (servers[which] as LocalService).getApi(path, token));
  expect(responses.map((response) => response.status)).toEqual([200, 200]);
  const [page, again] = responses.map((response) => response.body as ListPage) as [ListPage, ListPage];
  expect(again.value).toEqual(page.value);
  expect(typeof again.next).toBe(typeof page.next);
  return page;
}

/** Checks that the pages together contain `list`, that every page but the last is full, and that only the last page lacks a cursor. */
async function expectPagesOf(
  list: readonly unknown[],
  path: string,
  pageSize: number,
  { servers, limit, turns }: { servers: readonly LocalService[]; limit: number | undefined; turns: number[] },
): Promise<void> {
  const query = new URLSearchParams(limit === undefined ? {} : { limit: String(limit) });
  const pageCount = Math.max(Math.ceil(list.length / pageSize), 1);
  const joined: unknown[] = [];
  for (let number = 1; number <= pageCount; number += 1) {
    const turn = turns[number % turns.length] ?? 0;
    const page = await readTwice(servers, turn, `${path}?${query.toString()}`);
    joined.push(...page.value);
    const isLast = number === pageCount;
    expect(page).toEqual({ value: page.value, ...(!isLast && { next: NEXT }) });
    expect(page.value).toHaveLength(isLast ? list.length - (pageCount - 1) * pageSize : pageSize);
    query.set('next', page.next ?? '');
  }
  expect(joined).toEqual(list);
}

test('the pages of any number of workspaces, with or without a limit, together contain the complete list', async () => {
  const size = fc.oneof(fc.nat(230), fc.constantFrom(0, 1, 24, 25, 26, 50, 99, 100, 101, 200));
  await forAll(20, fc.tuple(size, LIMIT, TURNS), async ([workspaces, limit, turns]) => {
    const servers = [await fixture.start({ workspaces }), await fixture.start({ workspaces })];
    const list = all(createSeedWorkspaces(workspaces).listOf('demo'));
    await expectPagesOf(list, '/workspaces', limit ?? 25, { servers, limit, turns });
    for (const server of servers) server.close();
  });
});

test.each([
  ['rooms', roomsIn],
  ['murals', muralsIn],
] as const)(
  'the pages of the %s in any workspace, with or without a limit, together contain the complete list',
  async (kind, listOf) => {
    const workspaces = all(createSeedWorkspaces(137).listOf('demo'));
    const workspace = fc.constantFrom(...workspaces);
    await forAll(15, fc.tuple(workspace, LIMIT, TURNS), async ([one, limit, turns]) => {
      const path = `/workspaces/${one.id}/${kind}`;
      const list = all<unknown>(listOf(one));
      await expectPagesOf(list, path, limit ?? 50, { servers: [service, second], limit, turns });
    });
  },
);
