import { expect, test } from '@jest/globals';
import { isNewer, isSameGrant, parseRecord, sessionEndsAt } from '../../../src/session/record.ts';

const grant = {
  accessToken: 'a',
  expiresAt: 1_000,
  lifetimeMs: 900_000,
  refreshToken: 'r',
  scopes: ['murals:read'],
};
const record = { grant, createdAt: 5 };

test('parsing a record restores the written data and drops unknown members', () => {
  expect(parseRecord(JSON.stringify({ ...record, more: 1 }))).toEqual(record);
  const { refreshToken: _, ...withoutRefreshToken } = grant;
  const refreshed = { grant: withoutRefreshToken, createdAt: 5, refreshedAt: 7 };
  expect(parseRecord(JSON.stringify(refreshed))).toEqual(refreshed);
});

test.each([
  'no JSON',
  'null',
  '{"version":2}',
  JSON.stringify({ grant: { ...grant, scopes: null }, createdAt: 5 }),
])('an invalid record or a record from another version is treated as missing: %s', (text) =>
  expect(parseRecord(text)).toBeNull(),
);

test.each([
  ['an identical grant', grant, true, false],
  ['a grant with a different access token', { ...grant, accessToken: 'b' }, false, true],
  ['a grant with the same access token and a longer lifetime', { ...grant, expiresAt: 2_000 }, false, true],
  [
    'a grant with the same access token and a different refresh token',
    { ...grant, refreshToken: 's' },
    false,
    false,
  ],
])('isSameGrant() and isNewer() recognise %s', (_what, other, same, newer) => {
  expect([isSameGrant(grant, other), isNewer(other, grant)]).toEqual([same, newer]);
});

test('the maximum age of a session is counted from sign-in', () => {
  expect(sessionEndsAt({ ...record, createdAt: Date.UTC(2026, 0, 1), refreshedAt: Date.now() }, 3_600)).toBe(
    '2026-01-01T01:00:00.000Z',
  );
});
