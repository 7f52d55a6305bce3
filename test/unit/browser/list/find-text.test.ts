import { describe, expect, test } from '@jest/globals';
import { createMatcher as createPageMatcher, foldText } from '../../../../src/browser/list/find-text.ts';
import { createMatcher as createServerMatcher } from '../../../../src/workspaces/search.ts';

const ITEM = { description: '', isLong: false, flags: [], details: [], detailsLeft: 0 };

/** The matchers on the server and in the page, which must give the same results. */
const MATCHERS: readonly [string, (words: string, text: string) => boolean][] = [
  ['on the server', (words, name) => createServerMatcher(words)({ ...ITEM, name })],
  ['in the page', (words, text) => createPageMatcher(words)(foldText(text))],
];

describe.each(MATCHERS)('a search %s', (_where, matches) => {
  test.each([
    ['', 'anything', true],
    [' \t\u3000 ', 'anything', true],
    ['design', 'The Design of Things', true],
    ['THINGS  design', 'The Design of Things', true], // in any order
    ['design people', 'The Design of Things', false],
    ['sign thi', 'The Design of Things', true], // partial words
    ['designof', 'The Design of Things', false],
    ['cafe', 'Café', true],
    ['café', 'Cafe', true],
    ['cafe\u0301', 'Caf\u00E9', true], // composed and decomposed forms
    ['file', 'ﬁle', true], // a ligature
    ['ﬁ', 'first', true],
    ['istanbul', 'İstanbul', true], // Turkish dotted capital I
    ['İSTANBUL', 'istanbul', true],
    ['diyarbakir', 'Diyarbakır', false], // a dotless ı is a separate letter
    ['angstrom', 'Å\u212B ÅNGSTRÖM', true],
    ['2', 'm²', true],
    ['😀', 'Fun 😀', true],
    ['.*', 'anything', false],
    ['%', '100 %', true],
  ])('finds %j in %j: %s', (words, text, isFound) => {
    expect(matches(words, text)).toBe(isFound);
  });
});
