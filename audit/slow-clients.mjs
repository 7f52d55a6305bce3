import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { runScanner } from './support/run-scanner.mjs';

const SECONDS = 10;
const COMMON = ['-c', 300, '-r', 60, '-l', SECONDS, '-p', 5, '-g'];
/** The only header that slowhttptest can set is Accept, so add X-Requested-With here. Otherwise, Cloakroom does not read the body. */
const SAME_ORIGIN_ACCEPT = '*/*\r\nX-Requested-With: slowhttptest';
/** Placeholder for the path of the stylesheet, which has a version in its name. */
const STYLESHEET = 'the stylesheet';
/** The attacks that slowhttptest runs. */
const ATTACKS = [
  { name: 'slow heads', args: ['-H', '-i', 2], path: '/' },
  {
    name: 'slow bodies',
    args: ['-B', '-i', 2, '-s', 65_536, '-m', SAME_ORIGIN_ACCEPT],
    path: '/api/public/v1/workspaces',
  },
  { name: 'ranges', args: ['-R', '-a', 5, '-b', 2_000], path: STYLESHEET },
  { name: 'slow reading', args: ['-X', '-w', 10, '-y', 20, '-n', 2, '-z', 32, '-k', 3], path: STYLESHEET },
];
const PROBE_EVERY_MS = 100;
const PROBE_TIMEOUT_MS = 5_000;

/**
 * Attacks Cloakroom, and nginx in front of it, with slowhttptest. Reports each second in which slowhttptest got no response, and each
 * failed request from another user, as a finding.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 * @returns {Promise<import('./support/run-scanner.mjs').ScannerResult[]>}
 */
export async function attackWithSlowClients(system) {
  const results = [];
  const stylesheet = await findStylesheet(system);
  for (const [server, origin] of [
    ['Cloakroom', system.direct],
    ['nginx', system.origin],
  ]) {
    for (const { name, args, path } of ATTACKS) {
      const report = join(system.folder, `slowhttptest-${server}-${name.replace(' ', '-')}`);
      const otherUser = startOtherUser(system);
      const all = [
        ...args,
        ...COMMON,
        '-j',
        system.cookie,
        '-u',
        origin + (path === STYLESHEET ? stylesheet : path),
        '-o',
        report,
      ].map(String);
      await runScanner('slowhttptest', all, { seconds: 3 * SECONDS });
      const { served, slowest, findings } = await otherUser.stop();
      const states = (await readFile(`${report}.csv`, 'utf8')).trim().split('\n').slice(1);
      const unavailable = states.filter((line) => line.split(',').at(-1)?.trim() === '0');
      results.push({
        scanner: 'slowhttptest',
        target: `${name}, ${server}`,
        result: `available; ${served} requests from another user succeeded, the slowest in ${Math.ceil(slowest)} ms`,
        findings: [
          ...findings,
          ...unavailable.map((line) => `unavailable in second ${line.split(',', 1)[0]}`),
        ],
      });
    }
  }
  return results;
}

/**
 * Resolves to the path of the stylesheet, the largest public file.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 */
async function findStylesheet({ direct }) {
  const { body } = await request(direct);
  const [, path] = /<link rel="stylesheet" href="([^"]+)"/.exec(await body.text()) ?? [];
  if (path === undefined) throw new Error('The landing page has no stylesheet.');
  return path;
}

/**
 * Starts another user, who reads a page repeatedly until `stop` is called.
 * @param {import('./support/scanned-system.mjs').ScannedSystem} system
 */
function startOtherUser({ direct, otherCookie: cookie }) {
  const controller = new AbortController();
  const agent = new Agent({ connections: 1 });
  /** @type {string[]} */
  const findings = [];
  let [served, slowest] = [0, 0];
  const readPages = async () => {
    while (!controller.signal.aborted) {
      const startedAt = performance.now();
      try {
        const { statusCode, body } = await request(`${direct}/workspaces`, {
          dispatcher: agent,
          reset: true, // a new connection each time, because the attack may use up the connections
          headers: { cookie },
          headersTimeout: PROBE_TIMEOUT_MS,
        });
        await body.dump();
        if (statusCode === 200) served += 1;
        else findings.push(`another user received a ${statusCode}`);
      } catch (error) {
        findings.push(`another user received no response: ${String(error)}`);
      }
      slowest = Math.max(slowest, performance.now() - startedAt);
      await delay(PROBE_EVERY_MS);
    }
  };
  const finished = readPages();
  return {
    async stop() {
      controller.abort();
      await finished;
      await agent.close();
      return { served, slowest, findings };
    },
  };
}
