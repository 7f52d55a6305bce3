import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Items } from '../../src/local-service/pagination.ts';
import { muralsIn, roomsIn } from '../../src/local-service/seed/items.ts';
import { createSeedWorkspaces } from '../../src/local-service/seed/workspaces.ts';
import type { AnyPage } from '../support/local-service/list-walk.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { callApi, newTokens } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';

let bench: Bench;
let processes: Server[];
let token: string;
beforeAll(async () => {
  bench = await openBench();
  processes = [await bench.start(), await bench.start()];
  token = (await newTokens(processes[0] as Server)).access_token;
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const LIMIT = fc.option(fc.integer({ min: 1, max: 100 }), { nil: undefined });
/** Which process is asked for a page first; then the other one is asked for it again. */
const TURNS = fc.array(fc.nat(1), { minLength: 1, maxLength: 5 });

const NEXT: unknown = expect.any(String);

const all = <T>(items: Items<T>): T[] => Array.from({ length: items.count }, (_, index) => items.at(index));

/** A page as both processes give it, where they agree on its items; its next is the first one's. */
async function readTwice(servers: readonly Server[], turn: number, path: string): Promise<AnyPage> {
  const answers = [];
  for (const which of [turn, 1 - turn]) answers.push(await callApi(servers[which] as Server, path, token));
  expect(answers.map((answer) => answer.status)).toEqual([200, 200]);
  const [page, again] = answers.map((answer) => answer.body as AnyPage) as [AnyPage, AnyPage];
  expect(again.value).toEqual(page.value);
  expect(typeof again.next).toBe(typeof page.next);
  return page;
}

/** Reads the list to its end: each page full but for the last, which alone has no next; joined, they are `list`. */
async function expectPagesOf(
  list: readonly unknown[],
  path: string,
  pageSize: number,
  { servers, limit, turns }: { servers: readonly Server[]; limit: number | undefined; turns: number[] },
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

test('any number of workspaces, with any limit or none, is what its pages are together', async () => {
  const size = fc.oneof(fc.nat(230), fc.constantFrom(0, 1, 24, 25, 26, 50, 99, 100, 101, 200));
  await fc.assert(
    fc.asyncProperty(size, LIMIT, TURNS, async (workspaces, limit, turns) => {
      const servers = [await bench.start({ workspaces }), await bench.start({ workspaces })];
      const list = all(createSeedWorkspaces(workspaces).listOf('demo'));
      await expectPagesOf(list, '/workspaces', limit ?? 25, { servers, limit, turns });
      for (const server of servers) server.close();
    }),
    { numRuns: times(20) },
  );
});

test.each([
  ['rooms', roomsIn],
  ['murals', muralsIn],
] as const)(
  'the %s of any workspace, with any limit or none, are what their pages are',
  async (kind, listOf) => {
    const workspaces = all(createSeedWorkspaces(137).listOf('demo'));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...workspaces), LIMIT, TURNS, async (workspace, limit, turns) => {
        const path = `/workspaces/${workspace.id}/${kind}`;
        const list = all<unknown>(listOf(workspace));
        await expectPagesOf(list, path, limit ?? 50, { servers: processes, limit, turns });
      }),
      { numRuns: times(15) },
    );
  },
);
