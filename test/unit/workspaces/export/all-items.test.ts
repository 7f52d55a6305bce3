import { expect, test } from '@jest/globals';
import { NOTES } from '../../../support/request-notes.ts';
import { TokenEndpointError } from '../../../../src/oauth/client.ts';
import { StoreUnavailableError } from '../../../../src/errors.ts';
import type { AppError } from '../../../../src/errors.ts';
import type { Session } from '../../../../src/session/record.ts';
import { createWholeList } from '../../../../src/workspaces/export/all-items.ts';
import { toServiceAnswerError } from '../../../../src/workspaces/service-errors.ts';
import type { AskPage } from '../../../../src/workspaces/service-pages.ts';

// What would take hours or a million items with a service: the walk alone, over a service that answers at once.

const ticket = {} as Session; // the service below does not ask who it is

/** Walks to the end; gives the number of items and the pauses that were made. */
async function walk(ask: AskPage, read = () => Promise.resolve<Session | null>(ticket)) {
  const pauses: number[] = [];
  const wholeList = createWholeList({
    readList: () => ask,
    sessions: { read },
    wait: (ms) => Promise.resolve(pauses.push(ms / 1_000)),
  });
  let items = 0;
  const signal = new AbortController().signal;
  const pages = wholeList({ ticket, path: '/things', notes: NOTES, signal });
  const failure = await (async () => {
    for await (const page of pages) items += page.length;
    return undefined;
  })().catch((error: unknown) => error);
  return { items, pauses, failure };
}

function toPage(n: number, next?: string) {
  return { items: [], text: JSON.stringify({ value: [n] }), ...(next !== undefined && { next }) };
}

const busy = (seconds: number) => toServiceAnswerError(429, { 'retry-after': String(seconds) }, 0);

/** Three pages, of which the second one fails so often with these before it comes. */
function failing(...failures: AppError[]): AskPage {
  return (next) => {
    const failure = next === 'b' ? failures.shift() : undefined;
    if (failure !== undefined) return Promise.reject(failure);
    return Promise.resolve(next === undefined ? toPage(1, 'b') : toPage(2, next === 'b' ? 'c' : undefined));
  };
}

test('A pause is as long as the service says, or the token endpoint or Redis', async () => {
  const { items, pauses, failure } = await walk(
    failing(busy(30), new TokenEndpointError(null), busy(5), new StoreUnavailableError(null)),
  );
  expect({ items, pauses, failure }).toEqual({ items: 3, pauses: [30, 2, 5, 2], failure: undefined });
});

test('Where no Retry-After is sent, x-ratelimit-reset counts', async () => {
  const failure = toServiceAnswerError(429, { 'x-ratelimit-reset': '1007' }, 1_000_000);
  expect((await walk(failing(failure))).pauses).toEqual([7]);
});

test('A pause that would leave the reader without a byte for more than 100 s is not made', async () => {
  expect((await walk(failing(busy(100)))).pauses).toEqual([100]);
  expect(await walk(failing(busy(101)))).toMatchObject({
    items: 1,
    pauses: [],
    failure: { code: 'service_rate_limited' },
  });
  expect(await walk(failing(busy(60), busy(60)))).toMatchObject({ pauses: [60], failure: { status: 503 } });
});

test('A page is tried ten times at most', async () => {
  const many = (count: number) => Array.from({ length: count }, () => busy(1));
  expect(await walk(failing(...many(9)))).toMatchObject({ items: 3, failure: undefined });
  const { pauses, failure } = await walk(failing(...many(10)));
  expect(pauses).toHaveLength(9);
  expect(failure).toMatchObject({ code: 'service_rate_limited' });
});

test('Redis away for a moment between two pages ends nothing, an ended session does', async () => {
  const reads: (() => Promise<Session | null>)[] = [
    () => Promise.reject(new StoreUnavailableError(null)),
    () => Promise.resolve(ticket),
    () => Promise.resolve(null),
  ];
  const { items, pauses, failure } = await walk(failing(), () => reads.shift()?.() ?? Promise.resolve(null));
  expect({ items, pauses }).toEqual({ items: 2, pauses: [2] });
  expect(failure).toMatchObject({ code: 'session_expired' });
});

test('A list that never ends is given up after 10,000 calls', async () => {
  let calls = 0;
  const { items, failure } = await walk(() => Promise.resolve(toPage((calls += 1), `next-${calls}`)));
  expect({ items, calls }).toEqual({ items: 10_000, calls: 10_000 });
  expect(failure).toMatchObject({ cause: { message: 'the list does not come to an end' } });
});
