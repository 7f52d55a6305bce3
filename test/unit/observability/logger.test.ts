import { expect, test } from '@jest/globals';
import { createLog } from '../../../src/observability/logger.ts';

const SECRET = 'pw-that-nobody-may-read';

/** An error of ioredis, as it makes them of what Redis answers. */
function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

function parseError(): Error {
  try {
    JSON.parse(`{"password": ${SECRET}`);
  } catch (error) {
    return error as Error;
  }
  throw new Error('that could be parsed');
}

/** The line of an error. */
function logged(err: Error): string {
  const lines: string[] = [];
  createLog('info', { write: (line) => lines.push(line) }).warn({ err }, 'redis is away');
  return lines.join('');
}

test.each([
  ['an answer of Redis', replyError(`ERR unknown command 'auth', with args beginning with: '${SECRET}'`)],
  ['an answer of Redis of several lines', replyError(`ERR not ${SECRET}\n    at nowhere\n${SECRET}`)],
  [
    'what Sentinels said last',
    new Error(`All sentinels are unreachable. Retrying from scratch after 10ms. Last error: ERR '${SECRET}'`),
  ],
  ['what can’t be parsed', parseError()],
  ['a cause', new Error('away', { cause: replyError(`ERR wrong number of arguments, '${SECRET}'`) })],
])('the line of an error quotes nothing: %s', (_what, error) => {
  expect(logged(error)).not.toContain(SECRET);
});

test('of an answer of Redis its first word is told, and of every error where it came from', () => {
  const { err } = JSON.parse(logged(replyError('WRONGPASS invalid username-password pair'))) as {
    err: { message: string; stack: string };
  };
  expect(err.message).toBe('Redis answered WRONGPASS');
  expect(err.stack).toMatch(/^\s+at .*logger\.test\.ts/);
});
