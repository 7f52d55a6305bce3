import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { runScanner } from './support/run-scanner.mjs';

const SECONDS = 10;
const COMMON = ['-c', 300, '-r', 60, '-l', SECONDS, '-p', 5, '-g'];
/** Headers that make slowhttptest's requests same-origin, so that Cloakroom reads their bodies. slowhttptest sends them in Accept. */
const OWN_PAGE = '*/*\r\nX-Requested-With: slowhttptest';
const STYLES = 'the stylesheet';
/** The attacks of slowhttptest. Those with a body use a path that reads it. */
const WAYS = [
  { name: 'slow heads', args: ['-H', '-i', 2], path: '/' },
  {
    name: 'slow bodies',
    args: ['-B', '-i', 2, '-s', 65_536, '-m', OWN_PAGE],
    path: '/api/public/v1/workspaces',
  },
  { name: 'ranges', args: ['-R', '-a', 5, '-b', 2_000], path: STYLES },
  { name: 'slow reading', args: ['-X', '-w', 10, '-y', 20, '-n', 2, '-z', 32, '-k', 3], path: STYLES },
];
const PROBE_EVERY_MS = 100;
const SLOWEST_PROBE_MS = 5_000;

/**
 * Runs slowhttptest against Cloakroom and against nginx before it. Other users must be served in time all along.
 * @param {import('./support/stage.mjs').Stage} stage
 * @returns {Promise<import('./support/run-scanner.mjs').Verdict[]>}
 */
export async function beSlow(stage) {
  const verdicts = [];
  const styles = await findStyles(stage);
  for (const [who, origin] of [
    ['Cloakroom', stage.direct],
    ['nginx', stage.origin],
  ]) {
    for (const { name, args, path } of WAYS) {
      const report = join(stage.folder, `slowhttptest-${who}-${name.replace(' ', '-')}`);
      const others = serveOthers(stage);
      const all = [
        ...args,
        ...COMMON,
        '-j',
        stage.cookie,
        '-u',
        origin + (path === STYLES ? styles : path),
        '-o',
        report,
      ].map(String);
      await runScanner('slowhttptest', all, { seconds: 3 * SECONDS });
      const { served, slowest, findings } = await others.stop();
      const states = (await readFile(`${report}.csv`, 'utf8')).trim().split('\n').slice(1);
      const away = states.filter((line) => line.split(',').at(-1)?.trim() === '0');
      verdicts.push({
        scanner: 'slowhttptest',
        target: `${name}, ${who}`,
        result: `available throughout; ${served} others served, the slowest in ${Math.ceil(slowest)} ms`,
        findings: [...findings, ...away.map((line) => `not available at second ${line.split(',', 1)[0]}`)],
      });
    }
  }
  return verdicts;
}

/** Resolves to the path of the largest public file. @param {import('./support/stage.mjs').Stage} stage */
async function findStyles({ direct }) {
  const { body } = await request(direct);
  const [, path] = /<link rel="stylesheet" href="([^"]+)"/.exec(await body.text()) ?? [];
  if (path === undefined) throw new Error('The landing page has no stylesheet.');
  return path;
}

/**
 * Reads pages as another user meanwhile. Each must come in time.
 * @param {import('./support/stage.mjs').Stage} stage
 */
function serveOthers({ direct, otherCookie: cookie }) {
  const over = new AbortController();
  const agent = new Agent({ connections: 1 });
  /** @type {string[]} */
  const findings = [];
  let [served, slowest] = [0, 0];
  const goOn = async () => {
    while (!over.signal.aborted) {
      const began = performance.now();
      try {
        const { statusCode, body } = await request(`${direct}/workspaces`, {
          dispatcher: agent,
          reset: true, // a new connection each time, because connections may run out
          headers: { cookie },
          headersTimeout: SLOWEST_PROBE_MS,
        });
        await body.dump();
        if (statusCode === 200) served += 1;
        else findings.push(`somebody else got a ${statusCode}`);
      } catch (error) {
        findings.push(`somebody else got nothing: ${String(error)}`);
      }
      slowest = Math.max(slowest, performance.now() - began);
      await delay(PROBE_EVERY_MS);
    }
  };
  const gone = goOn();
  return {
    async stop() {
      over.abort();
      await gone;
      await agent.close();
      return { served, slowest, findings };
    },
  };
}
