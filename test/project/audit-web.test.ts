import { expect, test } from '@jest/globals';
import { judge } from '../../audit/observatory.mjs';
import { errorsIn } from '../../audit/support/own-log.mjs';
import { judgeLog } from '../../audit/support/wapiti-log.mjs';
import { createLog, type Logger } from '../../src/observability/logger.ts';

/** The errors that the audit finds in a log of Cloakroom. */
function errorsOf(write: (log: Logger) => void): string[] {
  let text = '';
  write(createLog('debug', { write: (line) => void (text += line) }));
  return errorsIn(text);
}

test.each(['error', 'fatal'] as const)('the audit reports a line at level %s', (level) => {
  const errors = errorsOf((log) => {
    log.info('request');
    log[level]('something broke');
    log.info('request');
  });
  expect(errors).toEqual([expect.stringContaining('something broke')]);
});

test('the audit ignores lines below error', () => {
  const errors = errorsOf((log) => {
    log.debug('background token refresh failed');
    log.info('request');
    log.warn('sign-in limit reached');
  });
  expect(errors).toEqual([]);
});

test('the audit reports an empty log', () => {
  expect(errorsIn('')).toEqual(['nothing was logged at all']);
});

test('the audit reports a line that is not JSON, except an unfinished last one', () => {
  expect(errorsIn('node: out of memory\n{"level":"info","ms')).toEqual(['node: out of memory']);
});

/** The findings in this result of http-observatory. */
function findingsOf({ grade = 'A+', pass = true, status = 200 }): readonly string[] {
  const scan = { grade, score: 100, testsPassed: 1, testsQuantity: 1 };
  const tests = { 'a-test': { pass, result: 'what it saw' } };
  return judge(`words before\n${JSON.stringify({ scan, tests, status })}\n`).findings;
}

test('http-observatory has no finding for a scanned page with every test passed and an A+', () => {
  expect(findingsOf({})).toEqual([]);
});

test.each([
  ['a page that redirects, as pages do without a session', { status: 303 }, 'status 303'],
  ['a grade below A+, though every test was passed', { grade: 'A' }, 'its grade is A'],
  ['a test that was not passed, though the grade is A+', { pass: false }, 'a-test: what it saw'],
])('%s is a finding of http-observatory', (_what, said, finding) => {
  expect(findingsOf(said)).toEqual([expect.stringContaining(finding)]);
});

test('http-observatory that says nothing has failed', () => {
  expect(judge('it broke')).toEqual({ result: 'failed', findings: ['it broke'] });
});

const WHOLE =
  '[*] Wapiti found 12 URLs and forms during the scan\n[*] Launching module sql\n[*] Launching module xss\n';
const heldAgainst = (text: string) => judgeLog(text, ['sql', 'xss'], 12);

test('a scan of wapiti that saw and tried all is whole', () => {
  expect(heldAgainst(WHOLE)).toEqual({ bounds: [], findings: [] });
});

test('what wapiti had no time for is told', () => {
  const text = `Max scan time was reached, stopping.\n${WHOLE}Max attack time was reached for module sql, stopping.\n`;
  expect(heldAgainst(text)).toEqual({ bounds: ['looking for addresses', 'sql'], findings: [] });
});

test.each([
  ['found too little', WHOLE.replace('12', '11'), 'it found 11 addresses'],
  ['left a module out', WHOLE.replace('module xss', 'module'), 'it did not begin xss'],
  ['got no answers', `${WHOLE}3 requests were skipped due to network issues\n`, '3 of its requests'],
  ['can’t find a module', `${WHOLE}[!] Unable to find a module named x\n`, '[!] Unable to find'],
])('wapiti that %s is a finding', (_what, text, finding) => {
  expect(heldAgainst(text).findings).toEqual([expect.stringContaining(finding)]);
});
