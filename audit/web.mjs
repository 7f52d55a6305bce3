import { fileURLToPath } from 'node:url';
import { printTable } from '../bench/support/table.mjs';
import { scanPages } from './observatory.mjs';
import { evaluatePolicies } from './policies.mjs';
import { attackWithSlowClients } from './slow-clients.mjs';
import { startScannedSystem } from './support/scanned-system.mjs';
import { scanForVulnerabilities } from './wapiti.mjs';
import { requestWordList } from './word-list.mjs';

/** Runs the scanners one after another and keeps their reports in .cache/audit. The exit code is 1 if there is a finding. */

const FOLDER = fileURLToPath(new URL('../.cache/audit', import.meta.url));
const SCANNERS = {
  'http-observatory': scanPages,
  csp_evaluator: evaluatePolicies,
  slowhttptest: attackWithSlowClients,
  ffuf: requestWordList,
  wapiti: scanForVulnerabilities,
};
const requested = process.argv.slice(2);
const unknown = requested.find((name) => !Object.hasOwn(SCANNERS, name));
if (unknown !== undefined) {
  console.error(`Unknown scanner ${unknown}. Known scanners: ${Object.keys(SCANNERS).join(', ')}.`);
  process.exit(1);
}

// Exit explicitly on signals; otherwise, the exit handlers that stop nginx would not run.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
const system = await startScannedSystem(FOLDER);
/** @type {import('./support/run-scanner.mjs').ScannerResult[]} */
const results = [];
try {
  for (const [name, scan] of Object.entries(SCANNERS)) {
    if (requested.length > 0 && !requested.includes(name)) continue;
    console.error(`${name} …`);
    results.push(...(await scan(system)));
  }
  const errors = await system.logErrors();
  results.push({ scanner: 'Cloakroom', target: 'its log', result: 'no errors', findings: errors });
} finally {
  await system.stop();
}

printTable('Scanners', [
  ['scanner', 'target', 'result'],
  ...results.map(({ scanner, target, result, findings }) => [
    scanner,
    target,
    findings.length === 0 ? result : `${findings.length} findings`,
  ]),
]);
const findings = results.flatMap((each) =>
  each.findings.map((finding) => `${each.scanner}, ${each.target}: ${finding}`),
);
console.log(findings.length === 0 ? '\nNo findings.' : `\n${findings.join('\n')}`);
process.exitCode = findings.length === 0 ? 0 : 1;
