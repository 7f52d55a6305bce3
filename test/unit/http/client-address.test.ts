import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { clientAddress } from '../../../src/http/request-context.ts';

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
])('behind %i proxies, %j comes from %s', (proxies, forwarded, address) => {
  expect(clientAddress(from(forwarded), proxies)).toBe(address);
});
