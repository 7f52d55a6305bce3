import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { request } from 'undici';
import { runScanner } from './support/run-scanner.mjs';
import { judgeLog } from './support/wapiti-log.mjs';

/** The modules to run. nikto and wapp download lists, and ssrf and xxe need a server of theirs, so they are left out. */
const MODULES =
  'backup,blindsql,cookieflags,crlf,csp,csrf,exec,file,htaccess,http_headers,methods,permanentxss,redirect,shellshock,sql,xss';
const MOST_SECONDS = 40;
/** The time limit of a module. The result lists the modules that reached it. */
const MOST_SECONDS_EACH = 12;
/** What it says of what is meant to be so, and why. @type {Readonly<Record<string, string>>} */
const MEANT = {
  'X-XSS-Protection is not set':
    'it is 0: the filter that it once steered is gone from browsers, and did harm',
};

/**
 * Scans for vulnerabilities with wapiti, signed out and signed in.
 * @param {import('./support/stage.mjs').Stage} stage
 * @returns {Promise<import('./support/run-scanner.mjs').Verdict[]>}
 */
export async function attack(stage) {
  const verdicts = [];
  for (const { who, path, as, fewest } of [
    { who: 'signed out', path: '/', as: [], fewest: 3 },
    // wapiti sends no cookie after a redirect. Start at a page that does not redirect.
    { who: 'signed in', path: '/workspaces', as: ['-H', `Cookie: ${stage.cookie}`], fewest: 10 },
  ]) {
    const report = join(stage.folder, `wapiti-${who.replace(' ', '-')}.json`);
    const bounds = [
      '--max-scan-time',
      MOST_SECONDS,
      '--max-attack-time',
      MOST_SECONDS_EACH,
      '-d',
      3,
      '--max-links-per-page',
      20,
    ];
    const start = ['-u', stage.origin + path, '--scope', 'domain'];
    const quiet = [
      '--no-bugreport',
      '--flush-session',
      '--verify-ssl',
      0,
      '--store-session',
      join(stage.folder, 'wapiti'),
      '-v',
      0,
    ];
    const args = [...start, ...bounds, ...quiet, ...as, '-m', MODULES, '-f', 'json', '-o', report];
    const output = await runScanner('wapiti', args.map(String), {
      seconds: 600,
      env: { HOME: stage.folder },
    });
    await writeFile(report.replace(/json$/, 'log'), output);
    const { result, findings } = judge(await readFile(report, 'utf8'));
    const log = judgeLog(output, MODULES.split(','), fewest);
    const cut = log.bounds.length === 0 ? '' : `; out of time: ${log.bounds.join(', ')}`;
    const out = as.length > 0 && !(await isSignedIn(stage)) ? ['its session ended during the scan'] : [];
    verdicts.push({
      scanner: 'wapiti',
      target: who,
      result: result + cut,
      findings: [...findings, ...log.findings, ...out],
    });
  }
  return verdicts;
}

/** @param {import('./support/stage.mjs').Stage} stage */
async function isSignedIn({ direct, cookie }) {
  const { statusCode, body } = await request(`${direct}/workspaces`, { headers: { cookie } });
  await body.dump();
  return statusCode === 200;
}

/** @param {string} report */
function judge(report) {
  const { vulnerabilities, anomalies } =
    /** @type {{ vulnerabilities: Record<string, Fault[]>, anomalies: Record<string, Fault[]> }} */ (
      JSON.parse(report)
    );
  const all = [...Object.entries(vulnerabilities), ...Object.entries(anomalies)];
  const faults = all.flatMap(([kind, some]) => some.map((fault) => ({ kind, ...fault })));
  const findings = faults.filter(({ info }) => MEANT[info] === undefined);
  const notes = [...new Set(faults.filter((fault) => !findings.includes(fault)).map(({ info }) => info))];
  return {
    result: notes.length === 0 ? 'nothing' : `nothing but a note: ${notes.join('; ')}`,
    findings: findings.map(({ kind, method, path, info }) => `${kind}: ${method} ${path} (${info})`),
  };
}

/** @typedef {{ method: string, path: string, info: string }} Fault */
