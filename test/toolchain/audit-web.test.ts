import { expect, test } from '@jest/globals';
import { errorsIn } from '../../audit/support/own-log.mjs';
import { createLog } from '../../src/platform/log.ts';
import type { Logger } from '../../src/platform/log.ts';

/** What is held against a log in which this was written, as Cloakroom writes it. */
function errorsOf(write: (log: Logger) => void): string[] {
  let text = '';
  write(createLog('debug', { write: (line) => void (text += line) }));
  return errorsIn(text);
}

test.each(['error', 'fatal'] as const)(
  'one line at level %s is held against a scanned Cloakroom',
  (level) => {
    const errors = errorsOf((log) => {
      log.info('request');
      log[level]('something broke');
      log.info('request');
    });
    expect(errors).toEqual([expect.stringContaining('something broke')]);
  },
);

test('lines below that are not', () => {
  const errors = errorsOf((log) => {
    log.debug('not renewed ahead');
    log.info('request');
    log.warn('sign-ins of an address are limited');
  });
  expect(errors).toEqual([]);
});

test('a log without a line says nothing for it', () => {
  expect(errorsIn('')).toEqual(['nothing was logged at all']);
});

test('a line that is none of the log’s is held against it, and one that is being written is not', () => {
  expect(errorsIn('node: out of memory\n{"level":"info","ms')).toEqual(['node: out of memory']);
});
