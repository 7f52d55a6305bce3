import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runScanner } from './support/run-scanner.mjs';

/** The list of Debian's dirb: names of files and folders that are often exposed by mistake. */
export const WORDS = '/usr/share/dirb/wordlists/common.txt';
export const hasWords = () => existsSync(WORDS);

/** The routes that may respond with a 2xx or 3xx. */
const ROUTES = new Set(
  '/ /console /console/ /console/guide /workspaces /auth/login /auth/callback /auth/session /healthz'.split(
    ' ',
  ),
);
const BELOW = ['/', '/auth/', '/console/', '/workspaces/', '/api/', '/api/public/', '/api/public/v1/'];
/** Below these, any name may be the id of a workspace. Only a 5xx is a finding. */
const IDS = new Set(['/workspaces/']);
const MOST_SECONDS = 300;
const ONE_BY_ONE = ['-t', '1']; // with more threads, ffuf loses responses in its report

/**
 * Tries the word list with ffuf. An unexpected 2xx or 3xx and any 5xx is a finding.
 * @param {import('./support/stage.mjs').Stage} stage
 * @returns {Promise<import('./support/run-scanner.mjs').Verdict[]>}
 */
export async function tryWords(stage) {
  const verdicts = [];
  for (const { who, as } of [
    { who: 'signed out', as: [] },
    { who: 'signed in', as: ['-b', stage.cookie] },
  ]) {
    for (const folder of BELOW) {
      const report = join(stage.folder, `ffuf-${`${who}${folder}`.replaceAll(/[ /]/g, '-')}.json`);
      const options = [
        '-s',
        '-k',
        ...ONE_BY_ONE,
        '-maxtime',
        String(MOST_SECONDS),
        '-mc',
        'all',
        '-w',
        WORDS,
      ];
      const target = ['-u', `${stage.origin + folder}FUZZ`, ...as];
      await runScanner('ffuf', [...options, ...target, '-of', 'json', '-o', report], {
        seconds: 2 * MOST_SECONDS,
      });
      verdicts.push({
        scanner: 'ffuf',
        target: `${folder}…, ${who}`,
        ...(await judge(report, folder)),
      });
    }
  }
  return verdicts;
}

/** @param {string} report @param {string} folder */
async function judge(report, folder) {
  const { results } = /** @type {{ results: { status: number, url: string }[] }} */ (
    JSON.parse(await readFile(report, 'utf8'))
  );
  const words = (await readFile(WORDS, 'latin1')).trimEnd().split('\n').length;
  const isWrong = (/** @type {{ status: number, url: string }} */ { status, url }) => {
    if (status >= 500) return true;
    return status < 400 && !IDS.has(folder) && !ROUTES.has(new URL(url).pathname);
  };
  const findings = results.filter(isWrong).map(({ status, url }) => `${status} ${new URL(url).pathname}`);
  if (results.length < words) findings.push(`only ${results.length} of ${words} words were answered`);
  const statuses = [...new Set(results.map(({ status }) => status))].toSorted((a, b) => a - b);
  const counts = statuses.map(
    (each) => `${results.filter(({ status }) => status === each).length} × ${each}`,
  );
  return { result: counts.join(', '), findings };
}
