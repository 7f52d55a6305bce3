import { fileURLToPath } from 'node:url';
import { runScanner } from './support/run-scanner.mjs';

const PROCESS = fileURLToPath(new URL('observatory-process.mjs', import.meta.url));
/** The pages to scan, and whether they need a session. */
const PAGES = [
  { path: '/', signedIn: false },
  { path: '/workspaces', signedIn: true },
  { path: '/console', signedIn: true },
];

/**
 * Scans pages with Mozilla's HTTP Observatory. Every grade but A+ is a finding.
 * @param {import('./support/stage.mjs').Stage} stage
 * @returns {Promise<import('./support/run-scanner.mjs').Verdict[]>}
 */
export async function observe(stage) {
  const verdicts = [];
  for (const { path, signedIn } of PAGES) {
    const env = {
      NODE_EXTRA_CA_CERTS: stage.certificate,
      ...(signedIn && { AUDIT_COOKIE: stage.cookie }),
    };
    const address = new URL(path, stage.origin);
    const output = await runScanner(process.execPath, [PROCESS, address.host + path], {
      seconds: 60,
      env,
    });
    verdicts.push({ scanner: 'http-observatory', target: path, ...judge(output) });
  }
  return verdicts;
}

/**
 * Returns the findings for a page: a grade below A+, each failed test, and a scan of another page.
 * @param {string} output of observatory-process.mjs
 */
export function judge(output) {
  const line = output.split('\n').find((each) => each.startsWith('{'));
  if (line === undefined) return { result: 'failed', findings: [output] };
  const { scan, tests, status } =
    /** @type {import('@mdn/mdn-http-observatory').ScanResult & { status: number }} */ (JSON.parse(line));
  const lost = Object.entries(tests).filter(([, { pass }]) => !pass);
  return {
    result: `${scan.grade} (${scan.score}), ${scan.testsPassed} of ${scan.testsQuantity} passed, status ${status}`,
    findings: [
      ...(status === 200 ? [] : [`status ${status}: it is another page that was looked at`]),
      ...(scan.grade === 'A+' ? [] : [`its grade is ${scan.grade}`]),
      ...lost.map(([name, { result }]) => `${name}: ${result}`),
    ],
  };
}
