import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectionError, INCOMPLETE_RESPONSE } from './browser.mjs';
import { INCOMPLETE_EXPORT } from './outcomes.mjs';

/** The actions of signed-in users. */

/** @typedef {import('./visit.mjs').Visit} Visit */
/** @typedef {import('./random.mjs').Random} Random */
/** @typedef {(visit: Visit, random: Random) => Promise<unknown>} Action */

const API = '/api/public/v1/';
const LARGE_BYTES = 3_000_000;
const CHUNK = Buffer.alloc(65_536, 'y');
/** A pause that is longer than the lifetime of an access token. */
const PAUSE_MS = 7_000;

/** The actions, with their relative frequencies. @type {readonly [name: string, weight: number, action: Action][]} */
export const ACTIONS = [
  ['API request', 30, async (visit) => visit.send(`${API}soak/empty`)],
  [
    'list',
    10,
    async (visit, random) =>
      visit.expectOwnData((await visit.send(`${API}workspaces?limit=${random.pick([5, 25, 100])}`)).text),
  ],
  ['session status', 5, async (visit) => visit.send('/auth/session')],
  [
    'page',
    15,
    async (visit, random) =>
      visit.expectOwnData((await visit.send(`/workspaces?page=${random.pick([1, 2, 5])}`)).text),
  ],
  [
    'page inside a workspace',
    8,
    async (visit, random) =>
      visit.send(`/workspaces/${random.pick([...visit.ownIds])}${random.pick(['', '/murals'])}`),
  ],
  ['search', 4, async (visit) => visit.expectOwnData((await visit.send('/workspaces?find=a')).text)],
  [
    'export',
    3,
    async (visit, random) => {
      const pending = visit.send(`/workspaces.${random.pick(['csv', 'ndjson'])}`);
      const { text } = await pending.catch((/** @type {unknown} */ cause) => {
        if (!(cause instanceof ConnectionError && cause.message === INCOMPLETE_RESPONSE)) throw cause;
        throw new ConnectionError(INCOMPLETE_EXPORT, { cause });
      });
      visit.expectAllData(text);
    },
  ],
  ['small POST', 10, async (visit, random) => post(visit, Buffer.from(String(random.between(0, 1))))],
  [
    'large POST',
    3,
    async (visit, random) => post(visit, CHUNK, Math.ceil(random.between(1, LARGE_BYTES) / CHUNK.length)),
  ],
  ['large GET', 3, download],
  ['echoed POST', 2, echo],
  ['GET, aborted halfway', 2, abortDownload],
  ['POST, aborted halfway', 2, abortUpload],
  ['eight concurrent requests', 3, async (visit) => sendAtOnce(visit, 8)],
  [
    'two requests after a pause',
    1,
    async (visit) => {
      await delay(PAUSE_MS);
      await sendAtOnce(visit, 2);
    },
  ],
];

/** @param {Visit} visit @param {number} count */
async function sendAtOnce(visit, count) {
  await Promise.all(Array.from({ length: count }, async () => visit.send(`${API}soak/empty`)));
}

/**
 * @param {Visit} visit
 * @param {Buffer} chunk
 * @param {number} [times] if more than one, the body is streamed without a Content-Length
 */
async function post(visit, chunk, times = 1) {
  const hash = createHash('sha256');
  for (let time = 0; time < times; time++) hash.update(chunk);
  const body = times === 1 ? chunk : Readable.from(repeat(chunk, times));
  const { text } = await visit.send(`${API}soak/upload`, { method: 'POST', body });
  visit.expectIntact('an uploaded body', text === hash.digest('hex'));
}

/** @param {Visit} visit @param {Random} random */
async function download(visit, random) {
  const bytes = Math.ceil(random.between(1, LARGE_BYTES));
  const body = await visit.open(`${API}soak/download?bytes=${bytes}`);
  visit.expectIntact('a downloaded body', (await lengthOf(body)) === bytes);
}

/** @param {Visit} visit @param {Random} random */
async function echo(visit, random) {
  const times = Math.ceil(random.between(1, LARGE_BYTES) / CHUNK.length);
  const body = await visit.open(`${API}soak/echo`, {
    method: 'POST',
    body: Readable.from(repeat(CHUNK, times)),
  });
  visit.expectIntact('an echoed body', (await lengthOf(body)) === times * CHUNK.length);
}

/** @param {Visit} visit */
async function abortDownload(visit) {
  const body = await visit.open(`${API}soak/download?bytes=${50 * LARGE_BYTES}`);
  try {
    for await (const _chunk of body) break; // leaving the loop destroys the body
  } catch (cause) {
    throw new ConnectionError(INCOMPLETE_RESPONSE, { cause });
  }
}

/** @param {Visit} visit */
async function abortUpload(visit) {
  const controller = new AbortController();
  const { signal } = controller;
  const body = Readable.from(
    (async function* abortedBody() {
      yield* repeat(CHUNK, 5);
      controller.abort();
      await delay(60_000, undefined, { ref: false });
    })(),
  );
  const pending = visit.send(`${API}soak/upload`, { method: 'POST', body, signal });
  await pending.catch((/** @type {unknown} */ error) => {
    if (!(error instanceof ConnectionError && signal.aborted)) throw error;
  });
}

/** @param {import('node:stream').Readable} body */
async function lengthOf(body) {
  let length = 0;
  try {
    for await (const chunk of body) length += /** @type {Buffer} */ (chunk).length;
  } catch (cause) {
    throw new ConnectionError(INCOMPLETE_RESPONSE, { cause });
  }
  return length;
}

/** @param {Buffer} chunk @param {number} times */
function* repeat(chunk, times) {
  for (let time = 0; time < times; time++) yield chunk;
}
