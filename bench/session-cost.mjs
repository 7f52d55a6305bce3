import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fromDist } from './support/compiled.mjs';
import { silentLog, startStore } from './support/store.mjs';
import { printTable } from './support/table.mjs';
import { JWT_LIKE, newGrant, newToken, OPAQUE } from './support/tokens.mjs';

/** Measures the memory that a session takes up in Redis and in a process that caches it, using the compiled app. */

const { createSessionReads } = /** @type {typeof import('../src/redis/session-reads.ts')} */ (
  await fromDist('redis/session-reads.js')
);
const { createEncryption } = /** @type {typeof import('../src/session/encryption.ts')} */ (
  await fromDist('session/encryption.js')
);
const { createSessionStore } = /** @type {typeof import('../src/session/store.ts')} */ (
  await fromDist('session/store.js')
);
const { createCursors } = /** @type {typeof import('../src/workspaces/cursors.ts')} */ (
  await fromDist('workspaces/cursors.js')
);
const { createSignInTransactions } = /** @type {typeof import('../src/oauth/sign-in-transactions.ts')} */ (
  await fromDist('oauth/sign-in-transactions.js')
);

const SESSIONS = 100_000;
/** Maximum number of Redis commands in flight, low enough to avoid the command timeout. */
const CONCURRENCY = 200;
/** src/session/store.ts caches at most this many sessions. */
const CACHED = 10_000;
/** The list has 137 workspaces in pages of 25. */
const FURTHER_PAGES = 5;
/** The length of the local service's cursors. */
const CURSOR_LENGTH = 180;

setFlagsFromString('--expose-gc');
const collectGarbage = /** @type {() => void} */ (runInNewContext('gc'));

const store = await startStore();
const deps = {
  redis: store.redis,
  log: silentLog,
  prefix: 'cloakroom:',
  encryption: createEncryption({ current: [randomBytes(32)] }),
  idleSeconds: 3_600,
  readSession: createSessionReads(store.redis, 3_600),
  maxSeconds: 43_200,
  now: Date.now,
};
const records = createSessionStore(deps);
const cursors = createCursors(deps);
const signIns = createSignInTransactions({ ...deps, https: true });

try {
  const startedAt = performance.now();
  printTable(
    `Bytes in Redis ${(await store.info('server')).get('redis_version')}, averages of ${formatInteger(SESSIONS)} records`,
    [
      ['record', 'memory', 'snapshot', 'time to live'],
      await row(`session, ${OPAQUE.name}`, 'SESSION_IDLE_SECONDS', async (id) => createSession(id, OPAQUE)),
      await row(`session, ${JWT_LIKE.name}`, 'SESSION_IDLE_SECONDS', async (id) =>
        createSession(id, JWT_LIKE),
      ),
      await row(`list read through ${FURTHER_PAGES + 1} pages`, 'SESSION_IDLE_SECONDS', readList),
      await row('ended session', '10 min', async (id) => {
        await createSession(id, OPAQUE);
        await records.end(id);
      }),
      await row('sign-in transaction', '10 min', startSignIn),
    ],
  );
  printTable(`Bytes in a process per cached session, with ${formatInteger(CACHED)} cached`, [
    ['session', 'heap'],
    [OPAQUE.name, formatInteger(await cachedBytes(OPAQUE))],
    [JWT_LIKE.name, formatInteger(await cachedBytes(JWT_LIKE))],
  ]);
  console.log(`\n(${formatInteger((performance.now() - startedAt) / 1_000)} s)`);
} finally {
  await store.stop();
}

/** @param {number} value */
function formatInteger(value) {
  return Math.round(value).toLocaleString('en-GB');
}

/**
 * @param {string} name
 * @param {string} timeToLive
 * @param {(id: string) => Promise<unknown>} write writes the keys for one session
 */
async function row(name, timeToLive, write) {
  await store.redis.flushall('ASYNC');
  const [memoryBefore, snapshotBefore] = [await usedMemory(), await snapshotBytes()];
  await forMany(SESSIONS, async () => write(newId()));
  const [memory, snapshot] = [await usedMemory(), await snapshotBytes()];
  return [
    name,
    formatInteger((memory - memoryBefore) / SESSIONS),
    formatInteger((snapshot - snapshotBefore) / SESSIONS),
    timeToLive,
  ];
}

/**
 * Creates a session that has been refreshed, like most sessions.
 * @param {string} id
 * @param {typeof OPAQUE} lengths
 */
async function createSession(id, lengths) {
  await records.create(id, { grant: newGrant(lengths, 900), createdAt: Date.now(), refreshedAt: Date.now() });
}

/** @param {string} sessionId */
async function readList(sessionId) {
  const starts = Array.from({ length: FURTHER_PAGES }, (_, at) => ({
    page: at + 2,
    cursor: newToken(CURSOR_LENGTH),
    before: 25 * (at + 1),
  }));
  await cursors.add({ sessionId, path: '/api/public/v1/workspaces', limit: 25 }, starts);
}

/** @param {string} state */
async function startSignIn(state) {
  await signIns.start(state, { verifier: newToken(43), returnTo: '/workspaces' }, undefined);
}

/** @param {typeof OPAQUE} lengths */
async function cachedBytes(lengths) {
  await store.redis.flushall('ASYNC');
  const ids = Array.from({ length: CACHED }, newId);
  const next = ids.values();
  await forMany(CACHED, async () => createSession(next.next().value ?? '', lengths));
  const reader = createSessionStore(deps); // with an empty cache
  const before = heapUsed();
  const toRead = ids.values();
  await forMany(CACHED, async () => reader.read(toRead.next().value ?? ''));
  const bytes = (heapUsed() - before) / CACHED;
  await reader.read(ids[0] ?? ''); // keep the reader reachable until after the measurement
  return bytes;
}

function newId() {
  return randomBytes(32).toString('base64url');
}

/**
 * @param {number} times
 * @param {() => Promise<unknown>} work
 */
async function forMany(times, work) {
  let left = times;
  const worker = async () => {
    while (left-- > 0) await work();
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
}

function heapUsed() {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Resolves to the memory that Redis has allocated, once the amount is stable. */
async function usedMemory() {
  for (let before = NaN; ;) {
    const used = Number((await store.info('memory')).get('used_memory'));
    if (Math.abs(used - before) < 10_000) return used;
    before = used;
    await delay(500);
  }
}

/** Writes a snapshot and resolves to its size. SAVE could take longer than the command timeout. */
async function snapshotBytes() {
  await store.redis.bgsave();
  while ((await store.info('persistence')).get('rdb_bgsave_in_progress') !== '0') await delay(100);
  return statSync(new URL('dump.rdb', store.folder)).size;
}
