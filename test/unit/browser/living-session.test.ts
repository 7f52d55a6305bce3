import { describe, expect, test } from '@jest/globals';
import { toSession } from '../../../public/living-session.js';
import { HOUR_MS } from '../../support/constants.ts';

const SERVER_NOW = Date.UTC(2026, 0, 1, 12, 0, 0);
const BODY = {
  signedIn: true,
  expiresAt: '2026-01-01T23:00:00.000Z',
  idleExpiresAt: '2026-01-01T13:00:00.000Z',
};

describe('the moments of a session', () => {
  test.each([
    ['goes as the server’s', 0],
    ['is an hour ahead', HOUR_MS],
    ['is an hour behind', -HOUR_MS],
  ])('are by the browser’s clock where that %s', (_what, aheadMs) => {
    const now = SERVER_NOW + aheadMs;
    // A Date is cut to whole seconds: nobody is promised the second that may be over.
    expect(toSession(BODY, SERVER_NOW, now)).toEqual({
      signedIn: true,
      name: BODY.expiresAt,
      idleEndsAt: now + HOUR_MS - 1_000,
      lastsUntil: now + 11 * HOUR_MS - 1_000,
    });
  });

  test('are taken as they are where the answer has no Date', () => {
    expect(toSession(BODY, NaN, SERVER_NOW + 5 * HOUR_MS)).toMatchObject({
      idleEndsAt: SERVER_NOW + HOUR_MS,
      lastsUntil: SERVER_NOW + 11 * HOUR_MS,
    });
  });
});

test('Who is signed out is, whatever else is said', () => {
  expect(toSession({ signedIn: false, expiresAt: 1 }, NaN, 0)).toEqual({ signedIn: false });
});

test.each([
  [null],
  ['signed in'],
  [{}],
  [{ signedIn: 'true' }],
  [{ signedIn: true }],
  [{ ...BODY, expiresAt: 1_767_300_000_000 }],
  [{ ...BODY, idleExpiresAt: 'soon' }],
])('%j says nothing of the session', (body) => {
  expect(toSession(body, SERVER_NOW, SERVER_NOW)).toBeNull();
});
