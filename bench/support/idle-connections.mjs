import { execFileSync } from 'node:child_process';
import { openClient } from './load.mjs';

/** Cloakroom closes a connection that is idle for 75 seconds. */
const SEND_AGAIN_MS = 45_000;
const AT_ONCE = 50;
/** Open files that a process needs beside its connections. */
const SPARE_FILES = 500;

/**
 * Opens idle connections; each has sent one request. Throws if a process may not have so many open files.
 * @param {import('./load.mjs').Target} target
 * @param {number} count
 */
export async function openIdleConnections(target, count) {
  const allowed = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  if (Number(allowed) < count + SPARE_FILES) {
    throw new Error(`${count} connections need more open files than the ${allowed} of "ulimit -Hn".`);
  }
  /** @type {Awaited<ReturnType<typeof openClient>>[]} */
  const idle = [];
  while (idle.length < count) {
    const opened = await Promise.all(Array.from({ length: AT_ONCE }, async () => openClient(target)));
    await Promise.all(opened.map(async (client, at) => client.send(at)));
    idle.push(...opened);
  }
  let sentAt = performance.now();
  return {
    /** Sends a request on each connection before Cloakroom closes it. Rejects if one was closed. */
    async keep() {
      if (performance.now() - sentAt < SEND_AGAIN_MS) return;
      for (const [at, client] of idle.entries()) await client.send(at);
      sentAt = performance.now();
    },
    close() {
      for (const client of idle) client.close();
    },
  };
}
