import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { prepareTests, runJest } from './jest.mjs';
import { launch } from './launch.mjs';

/**
 * @typedef {object} Row What test/support/fleet/report.ts writes.
 * @property {string} fault
 * @property {number} calls
 * @property {Record<string, number>} answers
 * @property {number} sessionsLost
 * @property {number} [recoveredInMs]
 */

await launch(async () => {
  await ensurePackages();
  await prepareTests();
  const folder = mkdtempSync(join(tmpdir(), 'cloakroom-faults-'));
  try {
    const report = join(folder, 'rows');
    process.env['FAULTS_REPORT'] = report;
    const chosen = process.argv.slice(2);
    process.exitCode = await runJest(chosen.length > 0 ? chosen : ['test/faults']);
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
    .map((line) => toCells(/** @type {Row} */ (JSON.parse(line))))
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b));
  const head = ['fault', 'calls', 'answers by status', 'sessions lost', 'recovered in'];
  const widths = head.map((_, at) => Math.max(...[head, ...rows].map((cells) => (cells[at] ?? '').length)));
  /** @param {readonly string[]} cells */
  const toLine = (cells) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return [head, widths.map((width) => '-'.repeat(width)), ...rows].map(toLine).join('\n');
}

/** @param {Row} row */
function toCells({ fault, calls, answers, sessionsLost, recoveredInMs }) {
  const byStatus = Object.entries(answers)
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} × ${kind === '0' ? 'broken off' : kind}`)
    .join(', ');
  const recovered = recoveredInMs === undefined ? 'nothing failed' : `${Math.round(recoveredInMs)} ms`;
  return [fault, String(calls), byStatus, String(sessionsLost), recovered];
}
