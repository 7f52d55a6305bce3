import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runScanner } from './support/run-scanner.mjs';

/** The word list from the Debian package dirb, with names of files and folders that are often exposed by mistake. */
export const WORD_LIST = '/usr/share/dirb/wordlists/common.txt';
export const hasWordList = () => existsSync(WORD_LIST);

/** The routes for which a 2xx or 3xx is not a finding. */
const ROUTES = new Set(
  '/ /console /console/ /console/guide /workspaces /auth/login /auth/callback /auth/session /healthz'.split(
    ' ',
  ),
);
const FOLDERS = ['/', '/auth/', '/console/', '/workspaces/', '/api/', '/api/public/', '/api/public/v1/'];
/** In these folders, only a 5xx is a finding, because any name may be a workspace id. */
const FOLDERS_OF_IDS = new Set(['/workspaces/']);
const MAX_SECONDS = 300;
const ONE_THREAD = ['-t', '1']; // with more threads, ffuf omits responses from its report

/**
 * Requests each word of the list in each folder with ffuf. Any 5xx is a finding, and so is an unexpected 2xx or 3xx.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 * @returns {Promise<import('./support/run-scanner.mjs').ScannerResult[]>}
 */
export async function requestWordList(system) {
  const results = [];
  for (const { state, cookieArgs } of [
    { state: 'signed out', cookieArgs: [] },
    { state: 'signed in', cookieArgs: ['-b', system.cookie] },
  ]) {
    for (const folder of FOLDERS) {
      const report = join(system.folder, `ffuf-${`${state}${folder}`.replaceAll(/[ /]/g, '-')}.json`);
      const options = [
        '-s',
        '-k',
        ...ONE_THREAD,
        '-maxtime',
        String(MAX_SECONDS),
        '-mc',
        'all',
        '-w',
        WORD_LIST,
      ];
      const target = ['-u', `${system.origin + folder}FUZZ`, ...cookieArgs];
      await runScanner('ffuf', [...options, ...target, '-of', 'json', '-o', report], {
        seconds: 2 * MAX_SECONDS,
      });
      results.push({
        scanner: 'ffuf',
        target: `${folder}…, ${state}`,
        ...(await evaluateReport(report, folder)),
      });
    }
  }
  return results;
}

/** @param {string} report @param {string} folder */
async function evaluateReport(report, folder) {
  const { results: responses } = /** @type {{ results: { status: number, url: string }[] }} */ (
    JSON.parse(await readFile(report, 'utf8'))
  );
  const words = (await readFile(WORD_LIST, 'latin1')).trimEnd().split('\n').length;
  const isFinding = (/** @type {{ status: number, url: string }} */ { status, url }) => {
    if (status >= 500) return true;
    return status < 400 && !FOLDERS_OF_IDS.has(folder) && !ROUTES.has(new URL(url).pathname);
  };
  const findings = responses.filter(isFinding).map(({ status, url }) => `${status} ${new URL(url).pathname}`);
  if (responses.length < words) findings.push(`only ${responses.length} of ${words} words got a response`);
  const statuses = [...new Set(responses.map(({ status }) => status))].toSorted((a, b) => a - b);
  const counts = statuses.map(
    (each) => `${responses.filter(({ status }) => status === each).length} × ${each}`,
  );
  return { result: counts.join(', '), findings };
}
