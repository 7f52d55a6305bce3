import { expect, test } from '@jest/globals';
import { toItemView, toItemViews } from '../../../src/workspaces/item-view.ts';

const EMPTY = {
  name: 'Untitled',
  description: '',
  isLong: false,
  flags: [],
  details: [],
  detailsLeft: 0,
};

/** Returns the details of an item as pairs of label and text. */
function detailsOf(item: unknown): (readonly [string, string])[] {
  return toItemView(item).details.map(({ label, text }) => [label, text]);
}

/** Returns an object with this many fields, all with the same value. */
const fieldsOf = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`field${index}`, value]));

test('a workspace shows its name, description, creation date and flags', () => {
  const item = {
    name: 'Design',
    description: 'All of it',
    createdOn: Date.UTC(2024, 2, 12, 9, 30),
    locked: true,
    suspended: true,
  };
  expect(toItemView(item)).toEqual({
    ...EMPTY,
    name: 'Design',
    description: 'All of it',
    created: { iso: '2024-03-12T09:30:00.000Z', day: '12 Mar 2024', moment: '12 March 2024 at 09:30 UTC' },
    flags: [
      { text: 'Locked', tone: 'warning' },
      { text: 'Suspended', tone: 'warning' },
    ],
  });
});

test.each([
  [
    { type: 'private', confidential: true, favorite: true },
    ['warning Confidential', 'plain Private', 'plain Favourite'],
  ],
  [{ status: 'active' }, []],
  [{ status: 'archived' }, ['plain Archived']],
  [{ type: '😀'.repeat(99) }, [`plain ${'😀'.repeat(20)}…`]],
])('the fields %j result in the flags %j', (item, flags) => {
  expect(toItemView(item).flags.map(({ text, tone }) => `${tone} ${text}`)).toEqual(flags);
});

test.each([
  [{ title: 'A title', id: 'w1' }, 'A title'],
  [{ name: '', title: 'A title' }, 'A title'],
  [{ name: ' \u200b\u3000\n', id: 'w1' }, 'w1'],
  [{ name: 7, id: 42 }, '42'],
  [{}, 'Untitled'],
  ['just a text', 'just a text'],
])('an item without a name shows its title, id or a default: %j', (item, name) => {
  expect(toItemView(item).name).toBe(name);
});

test.each([[null], [undefined], [''], [42], [true], [[1, 2]]])(
  'an item that is neither an object nor a non-empty string is shown as untitled: %j',
  (item) => {
    expect(toItemView(item)).toEqual(EMPTY);
  },
);

test('a field of the wrong type becomes a detail', () => {
  const item = {
    name: {},
    title: [],
    id: { a: 1 },
    description: 5,
    createdOn: 'soon',
    locked: 'yes',
    suspended: 1,
  };
  expect(toItemView(item)).toMatchObject({ name: 'Untitled', description: '', flags: [] });
  expect(detailsOf(item)).toEqual([
    ['Name', '–'],
    ['Title', '–'],
    ['ID › A', '1'],
    ['Description', '5'],
    ['Created on', 'soon'],
    ['Locked', 'yes'],
    ['Suspended', '1'],
  ]);
});

test.each([0, -1, 1e300, Number.MAX_VALUE, Date.UTC(10_000, 0), '1700000000000', null])(
  'an invalid creation time is not shown as a time: %j',
  (createdOn) => {
    const view = toItemView({ name: 'x', createdOn });
    expect(view).not.toHaveProperty('created');
    expect(view.details[0]).not.toHaveProperty('time');
  },
);

test('a time may be an ISO 8601 string', () => {
  expect(toItemView({ updatedOn: '2024-03-12T09:30:00Z' }).updated?.iso).toBe('2024-03-12T09:30:00.000Z');
});

test('every other field becomes a detail with a readable label', () => {
  expect(
    detailsOf({
      id: 'w1',
      name: 'Design',
      title: 'Another name',
      companyId: 'c1',
      trial_extended: false,
      sharingSettings: { link: 'https://service.example/join/1' },
      createdBy: { id: 'u1', firstName: 'Ada', lastName: 'Lovelace' },
      tags: ['a', { b: null }],
      none: null,
      blank: '  ',
      nothing: {},
      count: 1.5,
    }),
  ).toEqual([
    ['ID', 'w1'],
    ['Title', 'Another name'],
    ['Company', 'c1'],
    ['Trial extended', 'No'],
    ['Invitation link', 'https://service.example/join/1'],
    ['Created by', 'Ada Lovelace'],
    ['Tags', '["a",{"b":null}]'],
    ['None', '–'],
    ['Blank', '–'],
    ['Nothing', '–'],
    ['Count', '1.5'],
  ]);
});

test('a detail is shown as a time if its name and value suggest a time', () => {
  const [trialEnds, seats] = toItemView({ trialEnds: Date.UTC(2024, 0, 2), seatsOn: 12 }).details;
  expect(trialEnds).toMatchObject({ text: '2 Jan 2024', time: { iso: '2024-01-02T00:00:00.000Z' } });
  expect(seats).toEqual({ label: 'Seats on', text: '12' });
});

test.each([
  ['https://service.example/a.png', true],
  ['http://service.example/a.png', false],
  ['javascript:alert(1)', false],
  ['JavaScript:alert(1)//https://', false],
  ['data:text/html,<script>', false],
  ['https://service.example/a b', false],
  ['https://[', false],
  ['//service.example', false],
])('only HTTPS URLs become links: %s', (thumbnailUrl, isLink) => {
  expect('href' in (toItemView({ thumbnailUrl }).details[0] ?? {})).toBe(isLink);
});

test('long texts are truncated, but never within a character', () => {
  const smiles = '😀'.repeat(10_000);
  const view = toItemView({ name: smiles, description: 'x'.repeat(10_000), note: smiles });
  expect(view.name).toBe(`${'😀'.repeat(250)}…`);
  expect(view.description).toHaveLength(2_001);
  expect(view.details[0]?.text).toBe(`${'😀'.repeat(250)}…`);
  expect(toItemView({ name: `x${smiles}` }).name).toBe(`x${'😀'.repeat(249)}…`);
});

test('the items on a page share a limit of a million characters', () => {
  const item = {
    name: 'n'.repeat(500),
    description: 'd'.repeat(2_000),
    ...fieldsOf(40, 'x'.repeat(500)),
    link: `https://service.example/${'x'.repeat(2_000)}`,
  };
  const [alone] = toItemViews([item]);
  expect(alone).toEqual(toItemView(item));
  expect(alone?.details).toHaveLength(40);
  const views = toItemViews(Array.from({ length: 1_000 }, () => item));
  expect(JSON.stringify(views).length).toBeLessThan(1_300_000); // includes the property names
  expect(views[0]).toMatchObject({
    name: `${'n'.repeat(100)}…`,
    description: `${'d'.repeat(250)}…`,
    detailsLeft: 41,
  });
  const short = toItemViews(Array.from({ length: 1_000 }, () => ({ a: 'b', c: 'd' })));
  expect(short[999]?.detailsLeft).toBe(0);
});

test('only the first forty details of an item are formatted and shown, followed by the number of hidden details', () => {
  let formatted = 0;
  const value = {
    toJSON() {
      formatted += 1;
      return 1;
    },
  };
  const view = toItemView(fieldsOf(40, fieldsOf(40, [value])));
  expect(view.details).toHaveLength(40);
  expect(view.detailsLeft).toBe(40 * 40 - 40);
  expect(formatted).toBeLessThan(50);
});

test('hostile field names are shown as ordinary labels', () => {
  const item: unknown = JSON.parse(
    '{"__proto__":{"locked":true},"constructor":"c","":1,"\\u202e":2,"toString":3}',
  );
  expect(toItemView(item).flags).toEqual([]);
  expect(detailsOf(item)).toEqual([
    ['Proto › Locked', 'Yes'],
    ['Constructor', 'c'],
    ['(no name)', '1'],
    ['(no name)', '2'],
    ['To string', '3'],
  ]);
});

test('an item with a hundred thousand values and very long names is shortened', () => {
  const many = Array.from({ length: 100_000 }, (_, index) => index);
  const view = toItemView({ many, ['x'.repeat(1_000_000)]: 1, status: 'y'.repeat(1_000_000) });
  expect(view.details.map(({ label, text }) => [label.length, text])).toEqual([
    [4, '(too large or too deeply nested to show)'],
    [61, '1'],
  ]);
  expect(view.flags[0]?.text).toBe(`Y${'y'.repeat(39)}…`);
});

test('a value that is nested too deeply is replaced by a note', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
  expect(detailsOf({ deep })).toEqual([['Deep', '(too large or too deeply nested to show)']]);
});
