import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, jest, test } from '@jest/globals';
import { createRequestBody } from '../../../src/gateway/request-body.ts';

const PACE = { bytes: 1_000, periodMs: 1_000 };

function openBody() {
  const req = Object.assign(new PassThrough(), { headers: {}, complete: false });
  const { stream } = createRequestBody(req as unknown as IncomingMessage, 1e9, 600_000, PACE);
  return { req, stream };
}

test.each([
  ['a body slower than the minimum pace from its first byte is cut off', 0, 900, true, true],
  ['a body faster than the minimum pace from its first byte is not cut off', 0, 1_100, true, false],
  ['a body slower than the minimum pace after its first 64 KiB is cut off', 65_536, 900, true, true],
  ['a body faster than the minimum pace after its first 64 KiB is not cut off', 65_536, 1_100, true, false],
  ['a slow body is not cut off while the service is not reading the body', 200_000, 900, false, false],
])('%s', async (_what, bytesAtOnce, bytesEachSecond, isRead, isCutOff) => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  try {
    const { req, stream } = openBody();
    if (isRead) stream.resume();
    if (bytesAtOnce > 0) req.write(Buffer.alloc(bytesAtOnce));
    for (let second = 0; second < 5 && !stream.destroyed; second += 1) {
      await new Promise(setImmediate);
      await jest.advanceTimersByTimeAsync(999);
      req.write(Buffer.alloc(bytesEachSecond));
      await new Promise(setImmediate);
      await jest.advanceTimersByTimeAsync(1);
    }
    expect(stream.destroyed).toBe(isCutOff);
    expect(stream.errored?.name).toBe(isCutOff ? 'RequestAbortedError' : undefined);
    stream.destroy();
  } finally {
    jest.useRealTimers();
  }
});
