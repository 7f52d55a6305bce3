import { parseArgs } from 'node:util';
import { startChromium } from '../scripts/chromium.mjs';
import { root } from '../scripts/launch.mjs';
import { signIn, startDemo } from '../scripts/running-demo.mjs';
import { median } from './support/statistics.mjs';
import { formatNumber, printTable } from './support/table.mjs';

/**
 * Measures how long the first visit to a page takes on a slow network: until the first paint, and until the page's scripts have run.
 * `--against FOLDER` also measures another checkout, in turn with this one. A missed goal does not change the exit code.
 */

const RUNS = 5;
/** Lighthouse's slow 4G. Chromium applies the latency to each request, but not to new connections. Throughput in bytes per second. */
const SLOW_4G = { latency: 150, downloadThroughput: 204_800, uploadThroughput: 96_000 };
const MAX_REQUESTS = 8;
const PAGES = [
  { path: '/', goalMs: 600 },
  { path: '/workspaces', goalMs: 850 },
  { path: '/console', goalMs: 1_200 },
];

/** @typedef {{ ms: number, requests: number, bytes: number }} Visit */

const { values } = parseArgs({ options: { against: { type: 'string' } } });
const folders = values.against === undefined ? [root] : [root, values.against];
const chromium = await startChromium();
const demos = await Promise.all(folders.map(async (folder) => startDemo(folder)));
try {
  const cookies = await Promise.all(demos.map(async ({ address }) => sessionCookies(address)));
  const rows = [['', 'median s', 'min', 'max', 'goal', 'requests', 'KiB']];
  for (const { path, goalMs } of PAGES) {
    /** @type {Visit[][]} */
    const visits = demos.map(() => []);
    for (let run = 0; run < RUNS; run += 1) {
      for (const [at, { address }] of demos.entries()) {
        visits[at]?.push(await visit(address + path, path === '/' ? [] : (cookies[at] ?? [])));
      }
    }
    for (const [at, all] of visits.entries()) rows.push(toRow(path, at === 0 ? goalMs : NaN, all));
  }
  printTable('First visit on emulated slow 4G', rows);
} finally {
  await Promise.all(demos.map(async (demo) => demo.end()));
  await chromium.close();
}

/** @param {string} address */
async function sessionCookies(address) {
  const context = await chromium.newContext();
  await signIn(await context.newPage(), address);
  const cookies = await context.cookies(address);
  await context.close();
  return cookies;
}

/**
 * Opens a page with an empty cache. Resolves to the time until the first paint and `DOMContentLoaded`, which follows the page's scripts.
 * @param {string} url
 * @param {Awaited<ReturnType<typeof sessionCookies>>} cookies
 * @returns {Promise<Visit>}
 */
async function visit(url, cookies) {
  const context = await chromium.newContext();
  try {
    await context.addCookies(cookies);
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', { offline: false, ...SLOW_4G });
    let requests = 0;
    let bytes = 0;
    devtools.on('Network.responseReceived', () => (requests += 1));
    devtools.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(url, { waitUntil: 'networkidle' });
    if (page.url() !== url) throw new Error(`${url} redirected to ${page.url()}.`);
    /** @type {number} */
    const ms = await page.evaluate(`Math.max(
      performance.getEntriesByType('navigation')[0].domContentLoadedEventStart,
      performance.getEntriesByName('first-contentful-paint')[0].startTime,
    )`);
    return { ms, requests, bytes };
  } finally {
    await context.close();
  }
}

/**
 * @param {string} path
 * @param {number} goalMs NaN for another checkout
 * @param {readonly Visit[]} visits
 */
function toRow(path, goalMs, visits) {
  const times = visits.map(({ ms }) => ms);
  const seconds = (/** @type {number} */ ms) => (ms / 1_000).toFixed(2);
  const requests = Math.max(...visits.map((each) => each.requests));
  const isMet = median(times) <= goalMs && requests <= MAX_REQUESTS;
  return [
    Number.isNaN(goalMs) ? `${path}, other checkout` : path,
    ...[median(times), Math.min(...times), Math.max(...times)].map(seconds),
    Number.isNaN(goalMs) ? '' : `${seconds(goalMs)}${isMet ? '' : ' missed'}`,
    `${requests}`,
    formatNumber(median(visits.map((each) => each.bytes)) / 1_024),
  ];
}
