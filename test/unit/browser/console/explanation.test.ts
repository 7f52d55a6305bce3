import { describe, expect, test } from '@jest/globals';
import { explain } from '../../../../src/browser/console/explanation.ts';
import { toRequestTiming } from '../../../../src/browser/console/server-timing.ts';

const USUAL = 'session;dur=1.2, token;dur=0, service;dur=38.4';
const REFRESHED = 'session;dur=1, token;dur=35;desc=refreshed, service;dur=80';
const REPLAYED = `${REFRESHED};desc=replayed`;
const VIA = { via: '1.1 cloakroom' };

const explained = (status: number, headers: Record<string, string>, json?: unknown) =>
  explain({ status, headers: new Headers(headers) }, json);
const words = (...args: Parameters<typeof explained>) => explained(...args).sentences.join(' ');

describe('Server-Timing', () => {
  test('metrics from the gateway are read even if metrics from the service precede them', () => {
    const own = 'session;dur=9;desc="a, b; c=1", db;dur=5, service;dur=7';
    expect(toRequestTiming(`${own}, ${REPLAYED}`)).toMatchObject({
      session: { ms: 1, desc: '' },
      token: { ms: 35, desc: 'refreshed' },
      service: { ms: 80, desc: 'replayed' },
    });
  });

  test.each([null, '', 'db;dur=5', 'token;dur=1, session;dur=1, service;dur=1', '"'])(
    'is treated as missing if the header is %j',
    (header) => {
      expect(toRequestTiming(header)).toBeNull();
    },
  );

  test('durations that are invalid are read as 0 ms', () => {
    expect(toRequestTiming('session;dur=x, token, service;dur=-1')).toMatchObject({
      session: { ms: 0 },
      token: { ms: 0 },
      service: { ms: 0 },
    });
  });
});

describe('a response from the service', () => {
  test.each(['1.1 cloakroom', '1.1 service-proxy, 1.1 cloakroom', '1.1 cloakroom, 2 edge'])(
    'is recognised by Via: %s',
    (via) => {
      expect(explained(500, { via }).by).toBe('service');
    },
  );

  test('with a problem body is not shown as a gateway problem', () => {
    const headers = { ...VIA, 'content-type': 'application/problem+json' };
    expect(explained(401, headers, { code: 'session_expired' })).toMatchObject({
      by: 'service',
      problem: null,
    });
  });

  test.each([
    ['an ordinary request', 200, USUAL, /did not refresh it or repeat the request/],
    ['a request after a refresh', 200, REFRESHED, /had expired.*refreshed it before it sent the request/],
    ['a repeated request', 200, REPLAYED, /rejected the access token.*repeated the request once/],
    ['a request with a recent token that is refused', 401, USUAL, /less than 30 seconds old/],
    ['a request that is refused twice', 401, REPLAYED, /rejected the new token too/],
    ['a large request that is refused', 401, REFRESHED, /over 64 KiB, send the request again/],
  ])('to %s is shown with an explanation of what the gateway did', (_what, status, timing, sentence) => {
    expect(words(status, { ...VIA, 'server-timing': timing })).toMatch(sentence);
  });

  test('with Retry-After is explained with the time to wait', () => {
    expect(words(429, { ...VIA, 'retry-after': '7' })).toMatch(/Wait 7 seconds/);
  });
});

describe('a response from the gateway', () => {
  const PROBLEM = { 'content-type': 'application/problem+json; charset=utf-8' };

  test('is explained with its code, its cause and advice', () => {
    const body = { code: 'too_busy', title: 'Busy', detail: 'So many', requestId: 'r' };
    expect(explained(503, PROBLEM, body).problem).toEqual({
      ...body,
      advice: expect.stringMatching(/^Wait Retry-After seconds/),
      needsSignIn: false,
    });
  });

  test.each(['sign_in_required', 'session_expired'])('with code %s prompts the user to sign in', (code) => {
    expect(explained(401, PROBLEM, { code }).problem?.needsSignIn).toBe(true);
  });

  test.each([{ code: '__proto__' }, { code: 5 }, { code: 'toString' }, {}])(
    'with body %j is explained without advice',
    (body) => {
      expect(explained(500, PROBLEM, body).problem?.advice).toBe('');
    },
  );
});

test('any other response is attributed to an intermediary', () => {
  expect(explained(502, { 'content-type': 'text/html' })).toMatchObject({
    by: 'other',
    problem: null,
    timing: null,
  });
  expect(explained(502, { 'content-type': 'application/problem+json' }, 'text').by).toBe('other');
});
