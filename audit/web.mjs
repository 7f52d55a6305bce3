import { fileURLToPath } from 'node:url';
import { printTable } from '../bench/support/table.mjs';
import { observe } from './observatory.mjs';
import { evaluatePolicies } from './policies.mjs';
import { beSlow } from './slow-clients.mjs';
import { startStage } from './support/stage.mjs';
import { attack } from './wapiti.mjs';
import { tryWords } from './word-list.mjs';

/** Runs the scanners one after another. Their reports stay in .cache/audit. A finding gives exit code 1. */

const FOLDER = fileURLToPath(new URL('../.cache/audit', import.meta.url));
const SCANNERS = {
  'http-observatory': observe,
  csp_evaluator: evaluatePolicies,
  slowhttptest: beSlow,
  ffuf: tryWords,
  wapiti: attack,
};
const asked = process.argv.slice(2);
const unknown = asked.find((name) => !Object.hasOwn(SCANNERS, name));
if (unknown !== undefined) {
  console.error(`There is no scanner named ${unknown}; there are ${Object.keys(SCANNERS).join(', ')}.`);
  process.exit(1);
}

// Exit on signals, so that the processes started here end, too.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
const stage = await startStage(FOLDER);
/** @type {import('./support/run-scanner.mjs').Verdict[]} */
const verdicts = [];
try {
  for (const [name, scan] of Object.entries(SCANNERS)) {
    if (asked.length > 0 && !asked.includes(name)) continue;
    console.error(`${name} …`);
    verdicts.push(...(await scan(stage)));
  }
  const errors = await stage.errors();
  verdicts.push({ scanner: 'Cloakroom', target: 'its own log', result: 'no error', findings: errors });
} finally {
  await stage.end();
}

printTable('Scanners', [
  ['', 'target', 'result'],
  ...verdicts.map(({ scanner, target, result, findings }) => [
    scanner,
    target,
    findings.length === 0 ? result : `${findings.length} findings`,
  ]),
]);
const findings = verdicts.flatMap((each) =>
  each.findings.map((words) => `${each.scanner}, ${each.target}: ${words}`),
);
console.log(findings.length === 0 ? '\nNo finding.' : `\n${findings.join('\n')}`);
process.exitCode = findings.length === 0 ? 0 : 1;
