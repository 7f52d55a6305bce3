import { describe, expect, test } from '@jest/globals';
import { createSessionCookie } from '../../../src/session/cookie.ts';

const A = Buffer.alloc(32, 'A');
const B = Buffer.alloc(32, 'B');

const createCookie = (...sessionKeys: Buffer[]) =>
  createSessionCookie({ https: true, sameSite: 'lax', sessionKeys: { current: sessionKeys } });
/** Returns the `Cookie` header that a browser sends after this `Set-Cookie`. */
const headerOf = (setCookie: string): string => setCookie.split(';')[0] ?? '';

const cookie = createCookie(A);
const header = headerOf(cookie.write('an-id'));

describe('a session cookie', () => {
  test('is found among other cookies', () => {
    expect(cookie.read(`a=1; ${header}; b=2`)).toEqual({ id: 'an-id', usesFirstKey: true });
  });

  test('signed with an older session key is accepted, and the result shows that the key is old', () => {
    expect(createCookie(B, A).read(header)).toEqual({ id: 'an-id', usesFirstKey: false });
  });

  test('has the attributes that its prefix requires', () => {
    expect(cookie.write('an-id').split('; ').slice(1)).toEqual([
      'Path=/',
      'HttpOnly',
      'Secure',
      'SameSite=Lax',
    ]);
    expect(headerOf(cookie.clear())).toBe('__Host-Http-cloakroom=');
  });
});

test.each([
  ['no cookie', undefined],
  ['a different id with the same signature', header.replace('an-id', 'an-ID')],
  ['a changed signature', header.replace(/..$/, 'AA')],
  ['no signature', '__Host-Http-cloakroom=s:an-id'],
  ['an id without the prefix of a signed value', header.replace('s%3A', '')],
  ['the cookie name for HTTP', header.replace('__Host-Http-', '')],
  ['the signature of another session key', headerOf(createCookie(B).write('an-id'))],
])('a Cookie header with %s does not identify a session', (_what, value) => {
  expect(cookie.read(value)).toBeNull();
});

test('cookies signed with a removed session key are refused, even if they were accepted before', () => {
  const sessionKeys = { current: [A] };
  const reloaded = createSessionCookie({ https: true, sameSite: 'lax', sessionKeys });
  expect(reloaded.read(header)).not.toBeNull();
  sessionKeys.current = [B];
  expect(reloaded.read(header)).toBeNull();
});
