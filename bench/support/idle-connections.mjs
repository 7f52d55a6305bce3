import { execFileSync } from 'node:child_process';
import { openClient } from './load.mjs';

/** Cloakroom closes a connection that has been idle for 75 s. */
const SEND_EVERY_MS = 45_000;
const CONCURRENCY = 50;
/** Number of open files that a process needs in addition to its connections. */
const OTHER_FILES = 500;

/**
 * Opens connections and sends one request on each. Throws if the limit on open files is too low.
 * @param {import('./load.mjs').Target} target
 * @param {number} count
 */
export async function openIdleConnections(target, count) {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  if (Number(limit) < count + OTHER_FILES) {
    throw new Error(`The limit on open files (ulimit -Hn) is ${limit}, too low for ${count} connections.`);
  }
  /** @type {Awaited<ReturnType<typeof openClient>>[]} */
  const idle = [];
  while (idle.length < count) {
    const opened = await Promise.all(Array.from({ length: CONCURRENCY }, async () => openClient(target)));
    await Promise.all(opened.map(async (client, at) => client.send(at)));
    idle.push(...opened);
  }
  let sentAt = performance.now();
  return {
    /** Sends a request on each connection, at most once every SEND_EVERY_MS. Rejects if Cloakroom closed a connection. */
    async keepAlive() {
      if (performance.now() - sentAt < SEND_EVERY_MS) return;
      for (const [at, client] of idle.entries()) await client.send(at);
      sentAt = performance.now();
    },
    close() {
      for (const client of idle) client.close();
    },
  };
}
