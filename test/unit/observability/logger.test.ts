import { afterEach, expect, jest, test } from '@jest/globals';
import { AppError } from '../../../src/errors.ts';
import { createBufferedOutput, createLog, toShortCause } from '../../../src/observability/logger.ts';

const SECRET = 'a-secret-password';

afterEach(() => void jest.useRealTimers());

/** Returns the error that ioredis creates for an error reply. */
function replyError(message: string): Error {
  return Object.assign(new Error(message), { name: 'ReplyError' });
}

function parseError(): Error {
  try {
    JSON.parse(`{"password": ${SECRET}`);
  } catch (error) {
    return error as Error;
  }
  throw new Error('the input was valid JSON');
}

/** Returns the log line for an error. */
function logged(err: Error): string {
  const lines: string[] = [];
  createLog('info', { write: (line) => lines.push(line) }).warn({ err }, 'redis connection lost');
  return lines.join('');
}

const SENTINELS = 'All sentinels are unreachable. Retrying from scratch after 10ms.';

test.each([
  ['an error reply from Redis', replyError(`ERR unknown command 'auth', with args: '${SECRET}'`)],
  ['an error reply with several lines', replyError(`ERR not ${SECRET}\n    at nowhere\n${SECRET}`)],
  ['the last error from the Sentinels', new Error(`${SENTINELS} Last error: ERR '${SECRET}'`)],
  ['unparsable input', parseError()],
  ['a cause', new Error('away', { cause: replyError(`ERR wrong number of arguments, '${SECRET}'`) })],
])('a logged error does not quote its input (%s)', (_what, error) => {
  expect(logged(error)).not.toContain(SECRET);
});

test('a logged error contains its stack and, for an error reply, the first word of the reply', () => {
  const { err } = JSON.parse(logged(replyError('WRONGPASS invalid username-password pair'))) as {
    err: { message: string; stack: string };
  };
  expect(err.message).toBe('Redis replied WRONGPASS');
  expect(err.stack).toMatch(/^\s+at .*logger\.test\.ts/);
});

test.each([
  [
    'the code of the innermost error',
    new Error('a', { cause: Object.assign(new Error('b'), { code: 'C' }) }),
    'C',
  ],
  [
    'the message of the innermost error',
    new Error('a', { cause: replyError(`OOM ${SECRET}`) }),
    'Redis replied OOM',
  ],
  ['only the start of a long message', new Error('a'.repeat(1_000)), 'a'.repeat(80)],
  ['no value that is not an Error', { SECRET }, 'not an Error'],
  ['nothing without a cause', undefined, undefined],
])('the short cause of a problem contains %s', (_what, cause, expected) => {
  expect(toShortCause(new AppError('too_busy', { cause }))).toBe(expected);
});

test('lines with an error are written once a second for each kind, with the number of lines left out', () => {
  jest.useFakeTimers();
  const lines: unknown[] = [];
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) });
  const err = new Error('refused');
  const fail = (id: number) => log.warn({ err, id, code: 'too_busy' }, 'request failed');
  for (let id = 1; id <= 200; id += 1) fail(id);
  log.warn({ err, code: 'draining' }, 'request failed');
  for (const node of ['a', 'b']) log.warn({ err, node }, 'redis node lost');
  jest.advanceTimersByTime(999);
  fail(201);
  expect(lines.splice(0)).toMatchObject([{ id: 1 }, { code: 'draining' }, { node: 'a' }, { node: 'b' }]);
  jest.advanceTimersByTime(1);
  fail(202);
  jest.advanceTimersByTime(1_000);
  fail(203);
  expect(lines).toMatchObject([{ id: 202, leftOut: 200 }, { id: 203 }]);
  expect(lines[1]).not.toHaveProperty('leftOut');
});

test('other lines are never left out', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const error = Object.assign(new Error('away'), { command: SECRET });
  for (let times = 0; times < 2; times += 1) {
    log.warn({ client: '192.0.2.1' }, 'sign-in limit reached');
    log.warn('session key removed; its sessions are lost');
    log.warn(error, 'redis connection lost');
    log.info({ err: error }, 'info');
  }
  expect(lines).toHaveLength(8);
  expect(lines.join('')).not.toContain(SECRET);
});

test('writeLine() writes the same line as pino, and nothing below the log level', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line.replace(/"time":\d{13}/, '"time":0')) });
  const fields = { path: '/"\\\n\u2028\ud800é', status: 200, cutOff: true, token: undefined, ms: 0.1 };
  log.info(fields, 'request');
  log.writeLine('info', { ...fields, msg: 'request' });
  log.writeLine('debug', { ...fields, msg: 'request' });
  expect(lines).toHaveLength(2);
  expect(lines[1]).toBe(lines[0]);
  expect(lines[1]).toMatch(/^\{"level":"info","time":0,"path":[^\n]*\}\n$/);
});

function createOutput() {
  const writes: string[] = [];
  return { writes, output: createBufferedOutput({ write: (text: string) => writes.push(text) }) };
}

test('the output writes all lines from 100 ms in one go, in order and only once', () => {
  jest.useFakeTimers();
  const { writes, output } = createOutput();
  output.write('one\n');
  jest.advanceTimersByTime(99);
  output.write('two\n');
  expect(writes).toEqual([]);
  jest.advanceTimersByTime(1);
  expect(writes).toEqual(['one\ntwo\n']);
  output.write('three\n');
  jest.advanceTimersByTime(100);
  output.write('last\n');
  output.flush();
  output.flush();
  expect(writes).toEqual(['one\ntwo\n', 'three\n', 'last\n']);
});

test('the output is written earlier once 8 KiB are buffered', () => {
  const { writes, output } = createOutput();
  for (let count = 0; count < 1_000; count += 1) output.write(`${'a'.repeat(99)}\n`);
  expect(writes.length).toBeGreaterThan(5);
});
