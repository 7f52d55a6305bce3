import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createSecretFinder } from './log-audit/secret-finder.mjs';
import { unknownMembers } from './log-audit/members.mjs';

/**
 * @typedef {object} Audit The audit of the logs from a test run.
 * @property {number} lines the number of log lines
 * @property {number} secrets the number of secrets that the tests recorded
 * @property {string[]} findings descriptions, which never contain the secrets
 */

const MAX_PRINTED = 20;

/**
 * Searches the logs from a test run for all secrets of its browsers and services, and for unknown fields in JSON lines.
 * test/support/log-audit.ts writes the logs and secrets of each test file into two files in `folder`.
 * @param {string} folder
 * @returns {Audit}
 */
export function auditLogs(folder) {
  const files = readdirSync(folder);
  const recorded = files.filter((name) => name.endsWith('.secrets')).flatMap((name) => linesOf(folder, name));
  const finder = createSecretFinder(
    recorded.map((line) => /** @type {{ kind: string, value: string }} */ (JSON.parse(line))),
  );
  /** @type {Set<string>} */
  const findings = new Set();
  let lines = 0;
  for (const name of files.filter((file) => file.endsWith('.lines'))) {
    for (const line of linesOf(folder, name)) {
      lines += 1;
      const where = `${testOf(name)}: ${titleOf(line)}`;
      for (const kind of finder.find(line)) findings.add(`${where} contains a secret (${kind})`);
      for (const member of unknownMembers(line)) findings.add(`${where} has an unknown field: ${member}`);
    }
  }
  return { lines, secrets: finder.size, findings: [...findings] };
}

/**
 * Adds a finding if a run of all tests wrote no log lines or recorded no secrets.
 * @param {Audit} audit
 * @returns {Audit}
 */
export function requireLogs({ lines, secrets, findings }) {
  const missing = [
    ...(lines === 0 ? ['the tests wrote no log lines'] : []),
    ...(secrets === 0 ? ['the tests recorded no secrets'] : []),
  ];
  return { lines, secrets, findings: [...missing, ...findings] };
}

/**
 * Prints the result of the audit.
 * @param {Audit} audit
 */
export function printAudit({ lines, secrets, findings }) {
  if (lines === 0 && findings.length === 0) return;
  console.log(`Logs: ${lines} lines, ${secrets} secrets searched for, ${findings.length} findings.`);
  for (const finding of findings.slice(0, MAX_PRINTED)) console.error(`  ${finding}`);
}

/**
 * Counts the audit as a test, unless there are no log lines or secrets.
 * @param {Audit} audit
 */
export function countAudit({ lines, secrets, findings }) {
  if (findings.length > 0) return { passed: 0, failed: 1 };
  return { passed: lines > 0 && secrets > 0 ? 1 : 0, failed: 0 };
}

/**
 * @param {string} folder
 * @param {string} name
 */
function linesOf(folder, name) {
  return readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean);
}

/** @param {string} name `test~support~x.test.ts.1234.lines` */
function testOf(name) {
  return name.replace(/\.\d+\.lines$/, '').replaceAll('~', '/');
}

/** @param {string} line The audit may print the line's message, because messages are constants. */
function titleOf(line) {
  const [, message] = /"msg":"((?:[^"\\]|\\.)*)"\}?$/.exec(line) ?? [];
  return message === undefined ? 'a line that is not a log line' : `a line “${message.slice(0, 60)}”`;
}
