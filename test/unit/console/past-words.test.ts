import { expect, test } from '@jest/globals';
import { toOutcome, toTarget } from '../../../public/console/past-words.js';
import { ORIGIN, usual } from './usual-request.ts';

const target = (query: [string, string][]) => toTarget({ ...usual, query }, ORIGIN);

test('Short values stand as they are sent', () => {
  expect(
    target([
      ['limit', '10'],
      ['find', 'é &'],
    ]),
  ).toBe('/api/public/v1/workspaces?limit=10&find=%C3%A9%20%26');
});

test('A page token is cut short in its middle, and so two of them can be told apart', () => {
  const token = (end: string) => `eyJsaW1pdCI6MTAsIm${'x'.repeat(100)}${end}`;
  expect(
    target([
      ['limit', '10'],
      ['next', token('one=')],
    ]),
  ).toBe('/api/public/v1/workspaces?limit=10&next=eyJsaW1p…xxxxone%3D');
  expect(target([['next', token('one')]])).not.toBe(target([['next', token('two')]]));
});

test('No escape is cut in two, and none counts thrice', () => {
  expect(target([['q', 'é'.repeat(20)]])).toMatch(/\?q=(?:%C3%A9){4}…(?:%C3%A9){4}$/);
  expect(target([['q', 'é'.repeat(12)]])).toMatch(/\?q=(?:%C3%A9){12}$/);
});

test('What is no address is shown as it was typed', () => {
  expect(toTarget({ ...usual, path: 'http://[' }, ORIGIN)).toBe('http://[');
});

test.each([
  [{ status: 200, end: 'whole' }, '200'],
  [{ status: 502, end: 'whole' }, '502'],
  [{ status: 200, end: 'broke-off' }, '200, broke off'],
  ['unreachable', 'no answer'],
  ['cancelled', 'cancelled'],
] as const)('An outcome is a status, or a word: %#', (outcome, words) => {
  expect(toOutcome(outcome)).toBe(words);
});
