import { expect, test } from '@jest/globals';
import { evaluateScan } from '../../audit/observatory.mjs';
import { errorsIn } from '../../audit/support/app-log.mjs';
import { evaluateLog } from '../../audit/support/wapiti-log.mjs';
import { createLog, type Logger } from '../../src/observability/logger.ts';

/** Returns the errors that the audit finds in a Cloakroom log. */
function errorsOf(write: (log: Logger) => void): string[] {
  let text = '';
  write(createLog('debug', { write: (line) => void (text += line) }));
  return errorsIn(text);
}

test.each([
  ['error', 1],
  ['fatal', 1],
  ['warn', 0],
  ['debug', 0],
] as const)('a log line at level %s produces %i audit findings', (level, count) => {
  const errors = errorsOf((log) => {
    log.info('request');
    log[level]('something broke');
    log.info('request');
  });
  expect(errors).toEqual(Array.from({ length: count }, () => expect.stringContaining('something broke')));
});

test('the audit reports an empty log', () => {
  expect(errorsIn('')).toEqual(['the log is empty']);
});

test('the audit reports a line that is not JSON, except an unfinished last line', () => {
  expect(errorsIn('node: out of memory\n{"level":"info","ms')).toEqual(['node: out of memory']);
});

/** Returns the findings for an http-observatory result with these values. */
function findingsOf({ grade = 'A+', pass = true, status = 200 }): readonly string[] {
  const scan = { grade, score: 100, testsPassed: 1, testsQuantity: 1 };
  const tests = { 'a-test': { pass, result: 'what it saw' } };
  return evaluateScan(`text before\n${JSON.stringify({ scan, tests, status })}\n`).findings;
}

test('a page that passes all http-observatory tests with an A+ has no findings', () => {
  expect(findingsOf({})).toEqual([]);
});

test.each([
  ['a redirect to sign-in', { status: 303 }, 'status 303'],
  ['a grade below A+ with all tests passed', { grade: 'A' }, 'grade A'],
  ['a failed test with the grade A+', { pass: false }, 'a-test: what it saw'],
])('%s in the http-observatory result is a finding', (_what, result, finding) => {
  expect(findingsOf(result)).toEqual([expect.stringContaining(finding)]);
});

test('http-observatory output without a result is treated as a failure', () => {
  expect(evaluateScan('it broke')).toEqual({ result: 'failed', findings: ['it broke'] });
});

const COMPLETE =
  '[*] Wapiti found 12 URLs and forms during the scan\n[*] Launching module sql\n[*] Launching module xss\n';
const resultOf = (text: string) => evaluateLog(text, ['sql', 'xss'], 12);

test('a complete wapiti scan has no findings', () => {
  expect(resultOf(COMPLETE)).toEqual({ timedOut: [], findings: [] });
});

test('the result lists the wapiti steps that reached their time limit', () => {
  const text = `Max scan time was reached, stopping.\n${COMPLETE}Max attack time was reached for module sql, stopping.\n`;
  expect(resultOf(text)).toEqual({ timedOut: ['finding addresses', 'sql'], findings: [] });
});

test.each([
  ['finds too few addresses', COMPLETE.replace('12', '11'), 'found 11 addresses'],
  ['omits a module', COMPLETE.replace('module xss', 'module'), 'did not start xss'],
  [
    'gets no responses',
    `${COMPLETE}3 requests were skipped due to network issues\n`,
    '3 requests had no response',
  ],
  ['can’t find a module', `${COMPLETE}[!] Unable to find a module named x\n`, '[!] Unable to find'],
])('a wapiti scan that %s is a finding', (_what, text, finding) => {
  expect(resultOf(text).findings).toEqual([expect.stringContaining(finding)]);
});
