import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { runScanner } from './support/run-scanner.mjs';
import { evaluateLog } from './support/wapiti-log.mjs';

/** The modules to run: all except nikto and wapp, which download lists, and ssrf and xxe, which need an external server. */
const MODULES =
  'backup,blindsql,cookieflags,crlf,csp,csrf,exec,file,htaccess,http_headers,methods,permanentxss,redirect,shellshock,sql,xss';
/** The time limit for finding addresses. */
const MAX_CRAWL_SECONDS = 40;
/** The time limit for each module. */
const MAX_MODULE_SECONDS = 12;
/** The reasons for accepting reports, keyed by the text of the report. @type {Readonly<Record<string, string>>} */
const ACCEPTED = {
  'X-XSS-Protection is not set':
    'the value is 0, because browsers have removed the filter, which itself caused vulnerabilities',
};

/**
 * Scans for vulnerabilities with wapiti, signed out and signed in.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 * @returns {Promise<import('./support/run-scanner.mjs').ScannerResult[]>}
 */
export async function scanForVulnerabilities(system) {
  const results = [];
  for (const { state, path, cookieArgs, minAddresses } of [
    { state: 'signed out', path: '/', cookieArgs: [], minAddresses: 3 },
    // wapiti does not send cookies after a redirect, so start at a page that does not redirect.
    {
      state: 'signed in',
      path: '/workspaces',
      cookieArgs: ['-H', `Cookie: ${system.cookie}`],
      minAddresses: 10,
    },
  ]) {
    const report = join(system.folder, `wapiti-${state.replace(' ', '-')}.json`);
    const limits = [
      '--max-scan-time',
      MAX_CRAWL_SECONDS,
      '--max-attack-time',
      MAX_MODULE_SECONDS,
      '-d',
      3,
      '--max-links-per-page',
      20,
    ];
    const start = ['-u', system.origin + path, '--scope', 'domain'];
    const quiet = [
      '--no-bugreport',
      '--flush-session',
      '--verify-ssl',
      0,
      '--store-session',
      join(system.folder, 'wapiti'),
      '-v',
      0,
    ];
    const args = [...start, ...limits, ...quiet, ...cookieArgs, '-m', MODULES, '-f', 'json', '-o', report];
    const output = await runScanner('wapiti', args.map(String), {
      seconds: 600,
      env: { HOME: system.folder },
    });
    await writeFile(report.replace(/json$/, 'log'), output);
    const { result, findings } = evaluateReport(await readFile(report, 'utf8'));
    const log = evaluateLog(output, MODULES.split(','), minAddresses);
    const timedOut = log.timedOut.length === 0 ? '' : `; time limit reached: ${log.timedOut.join(', ')}`;
    const signedOut =
      cookieArgs.length > 0 && !(await isSignedIn(system)) ? ['the session ended during the scan'] : [];
    results.push({
      scanner: 'wapiti',
      target: state,
      result: result + timedOut,
      findings: [...findings, ...log.findings, ...signedOut],
    });
  }
  return results;
}

/** @param {import('./support/scanned-system.mjs').ScannedSystem} system */
async function isSignedIn({ direct, cookie }) {
  const { statusCode, body } = await request(`${direct}/workspaces`, { headers: { cookie } });
  await body.dump();
  return statusCode === 200;
}

/** @param {string} report */
function evaluateReport(report) {
  const { vulnerabilities, anomalies } =
    /** @type {{ vulnerabilities: Record<string, Report[]>, anomalies: Record<string, Report[]> }} */ (
      JSON.parse(report)
    );
  const all = [...Object.entries(vulnerabilities), ...Object.entries(anomalies)];
  const reports = all.flatMap(([kind, ofKind]) => ofKind.map((each) => ({ kind, ...each })));
  const findings = reports.filter(({ info }) => ACCEPTED[info] === undefined);
  const accepted = [...new Set(reports.filter((each) => !findings.includes(each)).map(({ info }) => info))];
  return {
    result: accepted.length === 0 ? 'nothing reported' : `accepted: ${accepted.join('; ')}`,
    findings: findings.map(({ kind, method, path, info }) => `${kind}: ${method} ${path} (${info})`),
  };
}

/** @typedef {{ method: string, path: string, info: string }} Report */
