import { expect, test } from '@jest/globals';
import { NOTES } from '../../../support/request-notes.ts';
import { TokenEndpointError } from '../../../../src/oauth/client.ts';
import type { Session } from '../../../../src/session/record.ts';
import { createWholeList } from '../../../../src/workspaces/export/all-items.ts';
import { toServiceAnswerError } from '../../../../src/workspaces/service-errors.ts';
import type { AskPage } from '../../../../src/workspaces/service-pages.ts';
import { fc, times } from '../../../support/properties.ts';

const ticket = {} as Session; // the service below does not ask who it is

/** What the service does with one call: gives a page of so many items, or fails. */
const ANSWER = fc.oneof(
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

/** A service that never gives the same token twice, and answers by the script; when that is over, three items a call. */
function createService(items: readonly string[], script: readonly (number | string)[]): AskPage {
  const offsets = new Map<string | undefined, number>([[undefined, 0]]);
  let calls = 0;
  return (next) => {
    const answer = script[calls] ?? 3;
    calls += 1;
    const offset = offsets.get(next) ?? 0;
    if (answer === 'busy') return Promise.reject(toServiceAnswerError(429, {}, 0));
    if (answer === 'no token') return Promise.reject(new TokenEndpointError(null));
    if (answer === 'broken') return Promise.reject(toServiceAnswerError(500, {}, 0));
    if (answer === 'expired') return Promise.reject(toServiceAnswerError(400, {}, 0));
    const end = offset + Number(answer);
    const text = `{"value":[${items.slice(offset, end).join(',')}]}`;
    if (end >= items.length) return Promise.resolve({ items: [], text });
    offsets.set(`${calls}`, end);
    return Promise.resolve({ items: [], text, next: `${calls}` });
  };
}

test('Whatever happens on the way, nothing is doubled, left out or moved; and an end in order is the end of the list', async () => {
  const ends = { whole: 0, cut: 0 };
  const walk = async (items: readonly string[], script: readonly (number | string)[]) => {
    const given: string[] = [];
    const ask = createService(items, script);
    const wholeList = createWholeList({
      readList: () => ask,
      sessions: { read: () => Promise.resolve(ticket) },
      wait: () => Promise.resolve(),
    });
    const signal = new AbortController().signal;
    try {
      for await (const page of wholeList({ ticket, path: '/things', notes: NOTES, signal }))
        given.push(...page);
      return { given, isWhole: true };
    } catch {
      return { given, isWhole: false };
    }
  };
  await fc.assert(
    fc.asyncProperty(
      fc.array(ITEM, { maxLength: 40 }),
      fc.array(ANSWER, { maxLength: 40 }),
      async (list, script) => {
        const items = list.map((item) => JSON.stringify(item));
        const { given, isWhole } = await walk(items, script);
        ends[isWhole ? 'whole' : 'cut'] += 1;
        expect(given).toEqual(isWhole ? items : items.slice(0, given.length));
      },
    ),
    { numRuns: times(500) },
  );
  // The scripts are worth something: there are both ends.
  expect(Math.min(ends.whole, ends.cut)).toBeGreaterThan(25);
});
