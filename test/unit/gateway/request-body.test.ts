import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { expect, jest, test } from '@jest/globals';
import { createRequestBody } from '../../../src/gateway/request-body.ts';

const PACE = { bytes: 1_000, periodMs: 1_000 };

function openBody() {
  const req = Object.assign(new PassThrough(), {
    headers: {},
    complete: false,
  }) as unknown as IncomingMessage;
  const { stream } = createRequestBody(req, 1e9, 600_000, PACE);
  return { req: req as unknown as PassThrough, stream };
}

test.each([
  ['less than the pace from its first byte', 0, 900, true, true],
  ['the pace from its first byte', 0, 1_100, true, false],
  ['less than the pace past its first 64 KiB', 65_536, 900, true, true],
  ['the pace past its first 64 KiB', 65_536, 1_100, true, false],
  ['less than the pace while the service does not read', 200_000, 900, false, false],
])('a body that brings %s', async (_what, bytesAtOnce, bytesEachSecond, isRead, isCutOff) => {
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
    expect([stream.destroyed, stream.errored?.name]).toEqual([
      isCutOff,
      isCutOff ? 'RequestAbortedError' : undefined,
    ]);
    stream.destroy();
  } finally {
    jest.useRealTimers();
  }
});
