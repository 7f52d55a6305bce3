import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { launch } from './launch.mjs';
import { prepareTests, selectTests } from './test-selection.mjs';

/**
 * @typedef {object} Row A line of test/support/fleet/report.ts.
 * @property {string} fault
 * @property {number} requests
 * @property {Record<string, number>} responses
 * @property {number} sessionsLost
 * @property {number} slowestMs
 * @property {number} [recoveredInMs]
 */

const LEGEND = `
lost: sessions that were unusable after the fault, although the user had not signed out
slowest: the maximum latency of a response, including the time of the service
recovered: the time from the end of the fault until the first successful request
A response without a problem code is a page or comes from the service. "no response" means that the connection closed without a response.
With rotation, each refresh token works once.`;

const HEAD = ['fault and responses by status', 'requests', 'lost', 'slowest', 'recovered'];

await launch(async () => {
  await ensurePackages();
  const chosen = process.argv.slice(2);
  const args = chosen.length > 0 ? chosen : ['test/processes/faults'];
  await prepareTests(selectTests(args).files);
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-faults-'));
  try {
    const report = join(folder, 'rows');
    process.env['FAULTS_REPORT'] = report;
    ({ code: process.exitCode } = await runJest(args));
    if (existsSync(report)) console.log(`\n${toTable(readFileSync(report, 'utf8'))}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** @param {string} lines */
function toTable(lines) {
  const rows = lines
    .trim()
    .split('\n')
    .map((line) => /** @type {Row} */ (JSON.parse(line)))
    .toSorted((a, b) => a.fault.localeCompare(b.fault));
  const cells = rows.map(toCells);
  const widths = HEAD.map((_, at) => Math.max(...[HEAD, ...cells].map((row) => (row[at] ?? '').length)));
  /** @param {readonly string[]} row */
  const toLine = (row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ');
  const line = widths.map((width) => '-'.repeat(width)).join('  ');
  const body = rows.map((row, at) => `${toLine(cells[at] ?? [])}\n    ${toResponses(row)}`);
  return [toLine(HEAD), line, ...body, LEGEND].join('\n');
}

/** @param {Row} row */
function toCells({ fault, requests, sessionsLost, slowestMs, recoveredInMs }) {
  return [fault, String(requests), String(sessionsLost), toSeconds(slowestMs), toSeconds(recoveredInMs)];
}

/** @param {number | undefined} ms */
function toSeconds(ms) {
  return ms === undefined ? '–' : `${(ms / 1_000).toFixed(1)} s`;
}

/** @param {Row} row */
function toResponses({ responses }) {
  return Object.entries(responses)
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} × ${kind === '0' ? 'no response' : kind}`)
    .join(', ');
}
