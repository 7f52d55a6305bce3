import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { BrokenOff, HALF_A_RESPONSE } from './browser.mjs';
import { HALF_AN_EXPORT } from './outcomes.mjs';

/** The actions of signed-in users. */

/** @typedef {import('./visit.mjs').Visit} Visit */
/** @typedef {import('./random.mjs').Random} Random */
/** @typedef {(visit: Visit, random: Random) => Promise<unknown>} Deed */

const API = '/api/public/v1/';
const LARGE_BYTES = 3_000_000;
const CHUNK = Buffer.alloc(65_536, 'y');
/** Longer than the lifetime of an access token. */
const AWAY_MS = 7_000;

/** The actions with their relative frequency. @type {readonly [name: string, often: number, deed: Deed][]} */
export const DEEDS = [
  ['API request', 30, async (visit) => visit.send(`${API}soak/whose`)],
  [
    'list',
    10,
    async (visit, random) =>
      visit.expectOwn((await visit.send(`${API}workspaces?limit=${random.pick([5, 25, 100])}`)).text),
  ],
  ['status', 5, async (visit) => visit.send('/auth/session')],
  [
    'page',
    15,
    async (visit, random) =>
      visit.expectOwn((await visit.send(`/workspaces?page=${random.pick([1, 2, 5])}`)).text),
  ],
  [
    'page inside a workspace',
    8,
    async (visit, random) =>
      visit.send(`/workspaces/${random.pick([...visit.mine])}${random.pick(['', '/murals'])}`),
  ],
  ['find', 4, async (visit) => visit.expectOwn((await visit.send('/workspaces?find=a')).text)],
  [
    'export',
    3,
    async (visit, random) => {
      const pending = visit.send(`/workspaces.${random.pick(['csv', 'ndjson'])}`);
      const { text } = await pending.catch((/** @type {unknown} */ cause) => {
        if (!(cause instanceof BrokenOff && cause.message === HALF_A_RESPONSE)) throw cause;
        throw new BrokenOff(HALF_AN_EXPORT, { cause });
      });
      visit.expectAll(text);
    },
  ],
  ['small POST', 10, async (visit, random) => post(visit, 'take', Buffer.from(String(random.between(0, 1))))],
  [
    'large POST',
    3,
    async (visit, random) =>
      post(visit, 'take', CHUNK, Math.ceil(random.between(1, LARGE_BYTES) / CHUNK.length)),
  ],
  ['large GET', 3, download],
  ['both ways at once', 2, echo],
  ['GET, aborted half way', 2, giveUpDownload],
  ['POST, aborted half way', 2, giveUpUpload],
  ['eight requests at once', 3, async (visit) => atOnce(visit, 8)],
  [
    'first request after a while',
    1,
    async (visit) => {
      await delay(AWAY_MS);
      await atOnce(visit, 2);
    },
  ],
];

/** @param {Visit} visit @param {number} count */
async function atOnce(visit, count) {
  await Promise.all(Array.from({ length: count }, async () => visit.send(`${API}soak/whose`)));
}

/**
 * @param {Visit} visit
 * @param {'take'} path
 * @param {Buffer} chunk
 * @param {number} [times] if more than one, the body is streamed without a Content-Length
 */
async function post(visit, path, chunk, times = 1) {
  const hash = createHash('sha256');
  for (let time = 0; time < times; time++) hash.update(chunk);
  const body = times === 1 ? chunk : Readable.from(repeat(chunk, times));
  const { text } = await visit.send(`${API}soak/${path}`, { method: 'POST', body });
  visit.expectWhole('what the service got', text === hash.digest('hex'));
}

/** @param {Visit} visit @param {Random} random */
async function download(visit, random) {
  const bytes = Math.ceil(random.between(1, LARGE_BYTES));
  const body = await visit.open(`${API}soak/give?bytes=${bytes}`);
  visit.expectWhole('what the service gave', (await lengthOf(body)) === bytes);
}

/** @param {Visit} visit @param {Random} random */
async function echo(visit, random) {
  const times = Math.ceil(random.between(1, LARGE_BYTES) / CHUNK.length);
  const body = await visit.open(`${API}soak/echo`, {
    method: 'POST',
    body: Readable.from(repeat(CHUNK, times)),
  });
  visit.expectWhole('what went both ways', (await lengthOf(body)) === times * CHUNK.length);
}

/** @param {Visit} visit */
async function giveUpDownload(visit) {
  const body = await visit.open(`${API}soak/give?bytes=${50 * LARGE_BYTES}`);
  try {
    for await (const _chunk of body) break; // which destroys it
  } catch (cause) {
    throw new BrokenOff(HALF_A_RESPONSE, { cause });
  }
}

/** @param {Visit} visit */
async function giveUpUpload(visit) {
  const over = new AbortController();
  const body = Readable.from(
    (async function* half() {
      yield* repeat(CHUNK, 5);
      over.abort();
      await delay(60_000, undefined, { ref: false });
    })(),
  );
  const pending = visit.send(`${API}soak/take`, { method: 'POST', body, signal: over.signal });
  await pending.catch((/** @type {unknown} */ error) => {
    if (!(error instanceof BrokenOff && over.signal.aborted)) throw error;
  });
}

/** @param {import('node:stream').Readable} body */
async function lengthOf(body) {
  let length = 0;
  try {
    for await (const chunk of body) length += /** @type {Buffer} */ (chunk).length;
  } catch (cause) {
    throw new BrokenOff(HALF_A_RESPONSE, { cause });
  }
  return length;
}

/** @param {Buffer} chunk @param {number} times */
function* repeat(chunk, times) {
  for (let time = 0; time < times; time++) yield chunk;
}
