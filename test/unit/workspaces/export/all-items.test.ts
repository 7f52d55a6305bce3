import { expect, test } from '@jest/globals';
import { SessionEndedError, type AppError } from '../../../../src/errors.ts';
import { TokenEndpointError } from '../../../../src/oauth/client.ts';
import type { Session } from '../../../../src/session/record.ts';
import type { ReadPage } from '../../../../src/workspaces/api-client.ts';
import { createItemTracker, createReadAllItems } from '../../../../src/workspaces/export/all-items.ts';
import { StoreUnavailableError } from '../../../../src/redis/client.ts';
import { toStatusError } from '../../../../src/workspaces/service-errors.ts';
import { fc, scaled } from '../../../support/properties.ts';
import { CONTEXT } from '../../../support/request-context.ts';

// With a real service, these tests would need hours or a million items. Here, `readPage` replaces the service and resolves immediately.

const session = {} as Session; // not used by `readPage`

/** Reads all items, and returns them with the pauses in seconds and any failure. */
async function readAll(readPage: ReadPage) {
  const pauses: number[] = [];
  const readAllItems = createReadAllItems({
    api: { createReadPage: () => readPage },
    wait: (ms) => Promise.resolve(pauses.push(ms / 1_000)),
  });
  const { signal } = new AbortController();
  const items: string[] = [];
  try {
    for await (const page of readAllItems({ session, path: '/things', context: CONTEXT, signal }))
      items.push(...page);
    return { items, pauses, failure: undefined };
  } catch (failure) {
    return { items, pauses, failure };
  }
}

function toPage(value: string, next?: string) {
  return { items: [], text: `{"value":[${value}]}`, ...(next !== undefined && { next }) };
}

const busy = (seconds: number) => toStatusError(429, { 'retry-after': String(seconds) }, 0);

/** Returns a list of three pages. The second page fails with each of these errors in turn before it succeeds. */
function failing(...failures: AppError[]): ReadPage {
  return (cursor) => {
    const failure = cursor === 'b' ? failures.shift() : undefined;
    if (failure !== undefined) return Promise.reject(failure);
    return Promise.resolve(
      cursor === undefined ? toPage('1', 'b') : toPage('2', cursor === 'b' ? 'c' : undefined),
    );
  };
}

test('after an error from the service, the token endpoint or Redis, an export pauses for the Retry-After time', async () => {
  const { items, pauses, failure } = await readAll(
    failing(busy(30), new TokenEndpointError(null), busy(5), new StoreUnavailableError(null)),
  );
  expect({ items, pauses, failure }).toEqual({
    items: ['1', '2', '2'],
    pauses: [30, 2, 5, 2],
    failure: undefined,
  });
});

test('an export uses x-ratelimit-reset if Retry-After is missing', async () => {
  const failure = toStatusError(429, { 'x-ratelimit-reset': '1007' }, 1_000_000);
  expect((await readAll(failing(failure))).pauses).toEqual([7]);
});

test('an export keeps its client waiting for at most 100 s', async () => {
  expect((await readAll(failing(busy(100)))).pauses).toEqual([100]);
  expect(await readAll(failing(busy(101)))).toMatchObject({
    items: ['1'],
    pauses: [],
    failure: { code: 'service_rate_limited' },
  });
  expect(await readAll(failing(busy(60), busy(60)))).toMatchObject({
    pauses: [60],
    failure: { status: 503 },
  });
});

test('an export requests the same page at most ten times', async () => {
  const many = (count: number) => Array.from({ length: count }, () => busy(1));
  expect(await readAll(failing(...many(9)))).toMatchObject({ items: ['1', '2', '2'], failure: undefined });
  const { pauses, failure } = await readAll(failing(...many(10)));
  expect(pauses).toHaveLength(9);
  expect(failure).toMatchObject({ code: 'service_rate_limited' });
});

test('an export survives a short Redis outage but fails when its session ends', async () => {
  const failures = [new StoreUnavailableError(null), new SessionEndedError()];
  expect(await readAll(failing(...failures))).toMatchObject({
    items: ['1'],
    pauses: [2],
    failure: { code: 'session_expired' },
  });
});

test('an export of an endless list fails after 10,000 requests', async () => {
  let requests = 0;
  const { items, failure } = await readAll(() => Promise.resolve(toPage('1', `next-${(requests += 1)}`)));
  expect([items.length, requests]).toEqual([10_000, 10_000]);
  expect(failure).toMatchObject({ cause: { message: 'the list does not end' } });
});

function digestOf(...items: string[]): string {
  const tracker = createItemTracker();
  for (const item of items) tracker.add(item);
  return tracker.digest();
}

test('items with the same ids in the same order have the same digest', () => {
  expect(digestOf('{"id":1,"a":2}', '{"b":3,"id":"x"}')).toBe(digestOf('{"id":1}', '{"id":"x"}'));
});

test.each([
  ['{"id":1} {"id":23}', '{"id":12} {"id":3}'],
  ['{"id":1}', '{"id":"1"}'],
  ['{"id":1} {"id":2}', '{"id":2} {"id":1}'],
  ['{"id":1}', '{"id":1} {"id":1}'],
  ['{"id":null,"a":1}', '{"id":null,"a":2}'],
  ['1', '{"id":1,"id":2}'],
])('the items %s and %s have different digests', (one, other) => {
  expect(digestOf(...one.split(' '))).not.toBe(digestOf(...other.split(' ')));
});

/** The service's response to one request: a number of items, or a failure. */
const RESPONSE = fc.oneof(
  { weight: 6, arbitrary: fc.nat(5) },
  { weight: 2, arbitrary: fc.constant('expired' as const) },
  { weight: 1, arbitrary: fc.constantFrom('busy' as const, 'no token' as const) },
  { weight: 1, arbitrary: fc.constant('broken' as const) },
);
const ITEM = fc.oneof(
  fc.nat(3),
  fc.record({ id: fc.nat(3) }),
  fc.record({ id: fc.constantFrom(1, '1', null), a: fc.nat(1) }),
);

/** Returns a service that sends each cursor once and follows the script. After the script, each page has three items. */
function createService(items: readonly string[], script: readonly (number | string)[]): ReadPage {
  const offsets = new Map<string | undefined, number>([[undefined, 0]]);
  const failures: Readonly<Record<string, () => AppError>> = {
    busy: () => toStatusError(429, {}, 0),
    'no token': () => new TokenEndpointError(null),
    broken: () => toStatusError(500, {}, 0),
    expired: () => toStatusError(400, {}, 0),
  };
  let requests = 0;
  return (cursor) => {
    const response = script[requests] ?? 3;
    requests += 1;
    const failure = failures[response];
    if (failure !== undefined) return Promise.reject(failure());
    const offset = offsets.get(cursor) ?? 0;
    const end = offset + Number(response);
    const page = items.slice(offset, end).join(',');
    if (end >= items.length) return Promise.resolve(toPage(page));
    offsets.set(`${requests}`, end);
    return Promise.resolve(toPage(page, `${requests}`));
  };
}

test('an export never repeats, skips or reorders items, and only a complete export ends without an error', async () => {
  const ends = { complete: 0, cut: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(ITEM, { maxLength: 40 }),
      fc.array(RESPONSE, { maxLength: 40 }),
      async (list, script) => {
        const items = list.map((item) => JSON.stringify(item));
        const { items: sent, failure } = await readAll(createService(items, script));
        const isComplete = failure === undefined;
        ends[isComplete ? 'complete' : 'cut'] += 1;
        expect(sent).toEqual(isComplete ? items : items.slice(0, sent.length));
      },
    ),
    { numRuns: scaled(500) },
  );
  expect(Math.min(ends.complete, ends.cut)).toBeGreaterThan(25); // both outcomes occur
});
