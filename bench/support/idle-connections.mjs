import { execFileSync } from 'node:child_process';
import { openCaller } from './load.mjs';

/** Cloakroom closes a connection that is idle for 75 seconds. */
const CALL_AGAIN_MS = 45_000;
const AT_ONCE = 50;
/** Of open files: for all that a process has open beside its connections. */
const SPARE_FILES = 500;

/**
 * Connections that do nothing but stay: each has made one call. Throws where a process may not have so many open files.
 * @param {import('./load.mjs').Target} target
 * @param {number} count
 */
export async function openIdleConnections(target, count) {
  const allowed = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim();
  if (Number(allowed) < count + SPARE_FILES) {
    throw new Error(`${count} connections need more open files than the ${allowed} of "ulimit -Hn".`);
  }
  /** @type {Awaited<ReturnType<typeof openCaller>>[]} */
  const idle = [];
  while (idle.length < count) {
    const opened = await Promise.all(Array.from({ length: AT_ONCE }, async () => openCaller(target)));
    await Promise.all(opened.map(async (caller, at) => caller.call(at)));
    idle.push(...opened);
  }
  let calledAt = performance.now();
  return {
    /** Has each call again before it would be closed. Rejects where one was closed all the same. */
    async keep() {
      if (performance.now() - calledAt < CALL_AGAIN_MS) return;
      for (const [at, caller] of idle.entries()) await caller.call(at);
      calledAt = performance.now();
    },
    close() {
      for (const caller of idle) caller.close();
    },
  };
}
