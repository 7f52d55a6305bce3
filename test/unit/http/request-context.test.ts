import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import {
  clientAddress,
  readTraceContext,
  requestContext,
  toTraceHeaders,
} from '../../../src/http/request-context.ts';

test('reading a missing request context throws an error that says what creates the context', () => {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  expect(() => requestContext(res)).toThrow('call AccessLog.begin() first');
});

const PEER = '127.0.0.1';
const from = (forwarded: string | undefined) =>
  ({
    socket: { remoteAddress: PEER },
    headers: { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

test.each([
  [0, '203.0.113.7', PEER],
  [1, '203.0.113.7', '203.0.113.7'],
  [1, '198.51.100.9, 203.0.113.7', '203.0.113.7'],
  [2, '198.51.100.9, 203.0.113.7', '198.51.100.9'],
  [1, '2001:db8::7', '2001:db8::7'],
  [1, '203.0.113.7:49152', '203.0.113.7'],
  [1, '[2001:db8::7]:49152', '2001:db8::7'],
  [1, '[2001:db8::7]', '2001:db8::7'],
  [1, '203.0.113.7:x', 'unknown'],
  [1, '203.0.113.777', 'unknown'],
  [1, '2001:db8::7::8', 'unknown'],
  [1, '"><script>', 'unknown'],
  [1, undefined, PEER],
])(
  'with %i trusted proxies, X-Forwarded-For %j gives the client address %s',
  (proxies, forwarded, address) => {
    expect(clientAddress(from(forwarded), proxies)).toBe(address);
  },
);

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const VALID = `00-${TRACE}-${PARENT}-01`;

describe('a traceparent', () => {
  test.each([
    ['in version 00', VALID],
    ['that is not sampled', `00-${TRACE}-${PARENT}-00`],
    ['with unknown flags', `00-${TRACE}-${PARENT}-ff`],
    ['in a later version', `cc-${TRACE}-${PARENT}-01`],
    ['in a later version with extra fields', `cc-${TRACE}-${PARENT}-01-what-the-future`],
  ])('%s is accepted and forwarded unchanged', (_what, traceparent) => {
    const trace = readTraceContext({ traceparent });
    expect(trace?.traceId).toBe(TRACE);
    expect(toTraceHeaders(trace)).toEqual({ traceparent });
  });

  test.each([
    ['a missing traceparent', undefined],
    ['an empty traceparent', ''],
    ['version ff', `ff-${TRACE}-${PARENT}-01`],
    ['an upper-case version', `CC-${TRACE}-${PARENT}-01`],
    ['version 00 with extra fields', `${VALID}-more`],
    ['a later version with extra text but no dash', `cc-${TRACE}-${PARENT}-01.more`],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['an upper-case trace id', `00-${TRACE.toUpperCase()}-${PARENT}-01`],
    ['an upper-case parent id', `00-${TRACE}-${PARENT.toUpperCase()}-01`],
    ['a short trace id', `00-${TRACE.slice(1)}-${PARENT}-01`],
    ['missing flags', `00-${TRACE}-${PARENT}`],
    ['flags that are not hexadecimal digits', `00-${TRACE}-${PARENT}-.1`],
    ['other separators', `00_${TRACE}_${PARENT}_01`],
    ['two values, joined by Node', `${VALID}, ${VALID}`],
    ['a later version with control characters', `cc-${TRACE}-${PARENT}-01-\u0000`],
  ])('is ignored (%s)', (_what, traceparent) => {
    const trace = readTraceContext({ ...(traceparent !== undefined && { traceparent }), tracestate: 'a=b' });
    expect(trace).toBeNull();
    expect(toTraceHeaders(trace)).toEqual({});
  });
});

const LONGEST = `a=${'b'.repeat(510)}`;
const tracestateOf = (tracestate: string, connection?: string) =>
  toTraceHeaders(readTraceContext({ traceparent: VALID, tracestate, connection }))['tracestate'];

test.each(['rojo=00f067aa0ba902b7, congo=t61rcWkgMzE', LONGEST])(
  'a tracestate is forwarded unchanged with its traceparent: %s',
  (tracestate) => {
    expect(tracestateOf(tracestate)).toBe(tracestate);
  },
);

test.each(['', 'a=\u00e9', 'a=\u0001', `${LONGEST}b`])(
  'an invalid tracestate is dropped: %j',
  (tracestate) => {
    expect(tracestateOf(tracestate)).toBeUndefined();
  },
);

test('a trace header that Connection lists is not forwarded, whatever the case of its name', () => {
  expect(readTraceContext({ traceparent: VALID, connection: 'close, TraceParent' })).toBeNull();
  expect(tracestateOf('a=b', 'Tracestate')).toBeUndefined();
});
