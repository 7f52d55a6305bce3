import { fileURLToPath } from 'node:url';
import { runScanner } from './support/run-scanner.mjs';

const PROCESS = fileURLToPath(new URL('observatory-process.mjs', import.meta.url));
/** The pages to scan. */
const PAGES = [
  { path: '/', signedIn: false },
  { path: '/workspaces', signedIn: true },
  { path: '/console', signedIn: true },
];

/**
 * Scans pages with Mozilla's HTTP Observatory.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 * @returns {Promise<import('./support/run-scanner.mjs').ScannerResult[]>}
 */
export async function scanPages(system) {
  const results = [];
  for (const { path, signedIn } of PAGES) {
    const env = {
      NODE_EXTRA_CA_CERTS: system.certificate,
      ...(signedIn && { AUDIT_COOKIE: system.cookie }),
    };
    const address = new URL(path, system.origin);
    const output = await runScanner(process.execPath, [PROCESS, address.host + path], {
      seconds: 60,
      env,
    });
    results.push({ scanner: 'http-observatory', target: path, ...evaluateScan(output) });
  }
  return results;
}

/**
 * Returns the result of a scan. A grade below A+, a failed test and a scan of a different page all count as findings.
 * @param {string} output the output of observatory-process.mjs
 */
export function evaluateScan(output) {
  const line = output.split('\n').find((each) => each.startsWith('{'));
  if (line === undefined) return { result: 'failed', findings: [output] };
  const { scan, tests, status } =
    /** @type {import('@mdn/mdn-http-observatory').ScanResult & { status: number }} */ (JSON.parse(line));
  const failed = Object.entries(tests).filter(([, { pass }]) => !pass);
  return {
    result: `${scan.grade} (${scan.score}), ${scan.testsPassed} of ${scan.testsQuantity} passed, status ${status}`,
    findings: [
      ...(status === 200 ? [] : [`status ${status}: a different page was scanned`]),
      ...(scan.grade === 'A+' ? [] : [`grade ${scan.grade}`]),
      ...failed.map(([name, { result }]) => `${name}: ${result}`),
    ],
  };
}
