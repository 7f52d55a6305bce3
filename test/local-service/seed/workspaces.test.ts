import { expect, test } from '@jest/globals';
import type { Items } from '../../../src/local-service/pagination.ts';
import { muralsIn, roomsIn } from '../../../src/local-service/seed/items.ts';
import { createSeedWorkspaces } from '../../../src/local-service/seed/workspaces.ts';

const all = <T>(items: Items<T>): T[] => Array.from({ length: items.count }, (_, index) => items.at(index));
const demo = all(createSeedWorkspaces(137).listOf('demo'));
const rooms = demo.flatMap((workspace) => all(roomsIn(workspace)));
const murals = demo.flatMap((workspace) => all(muralsIn(workspace)));

test('no two of 5,000 workspaces have the same name or id', () => {
  const many = all(createSeedWorkspaces(5_000).listOf('demo'));
  expect(new Set(many.map(({ name }) => name)).size).toBe(5_000);
  expect(new Set(many.map(({ id }) => id)).size).toBe(5_000);
});

test('workspace names use many scripts', () => {
  const names = demo.map(({ name }) => name).join();
  const scripts = 'Latin Greek Cyrillic Arabic Hebrew Han Katakana Hiragana Hangul Devanagari Thai'.split(
    ' ',
  );
  for (const script of scripts) expect(names).toMatch(new RegExp(`\\p{Script=${script}}`, 'u'));
  expect(names).toMatch(/\p{Extended_Pictographic}/u);
});

test('every field has the same shape as in the public service', () => {
  for (const workspace of demo) {
    expect(workspace).toMatchObject({
      id: expect.stringMatching(/^workspace\d+$/),
      name: expect.stringMatching(/\S/),
      description: expect.any(String),
      sharingSettings: { link: expect.stringMatching(/^https:/) },
      locked: expect.any(Boolean),
      suspended: expect.any(Boolean),
      createdOn: expect.any(Number),
    });
  }
  for (const room of rooms) {
    expect(Number.isSafeInteger(room.id)).toBe(true);
    expect(['open', 'private']).toContain(room.type);
  }
  for (const mural of murals) expect(mural.id).toMatch(/^workspace\d+\.\d+$/);
});

test('each optional property has a value in some workspaces but not in all', () => {
  for (const trait of ['locked', 'suspended', 'description', 'trialEnds', 'companyId'] as const) {
    const having = demo.filter((workspace) => workspace[trait]).length;
    expect(having).toBeGreaterThan(0);
    expect(having).toBeLessThan(137);
  }
});

test('room ids are unique, and so are mural ids', () => {
  expect(new Set(rooms.map(({ id }) => id)).size).toBe(rooms.length);
  expect(new Set(murals.map(({ id }) => id)).size).toBe(murals.length);
});

test('every mural is in a room of its workspace', () => {
  for (const workspace of demo.slice(0, 20)) {
    const roomIds = new Set(all(roomsIn(workspace)).map(({ id }) => id));
    expect(all(muralsIn(workspace)).filter(({ roomId }) => !roomIds.has(roomId))).toEqual([]);
  }
});

test.each([
  ['rooms', roomsIn],
  ['murals', muralsIn],
] as const)('workspaces have different numbers of %s', (_kind, listOf) => {
  expect(new Set(demo.slice(0, 8).map((workspace) => listOf(workspace).count)).size).toBeGreaterThan(3);
});

test('no item is updated before its creation or in the future, and creation dates span several years', () => {
  for (const item of [...rooms, ...murals]) expect(item.updatedOn).toBeGreaterThanOrEqual(item.createdOn);
  const years = new Set(demo.map(({ createdOn }) => new Date(createdOn).getUTCFullYear()));
  expect(years.size).toBeGreaterThanOrEqual(6);
  const newest = Math.max(...[...rooms, ...murals].map(({ updatedOn }) => updatedOn));
  expect(newest).toBeLessThan(Date.UTC(2026, 0));
});

test('the account "guest" has nine workspaces of its own', () => {
  const guest = all(createSeedWorkspaces(137).listOf('guest'));
  expect(guest).toHaveLength(9);
  const known = new Set(demo.map(({ id }) => id));
  expect(guest.filter(({ id }) => known.has(id))).toEqual([]);
});

test('an unknown account has no workspaces', () => {
  expect(createSeedWorkspaces(137).listOf('constructor').count).toBe(0);
});
