import { setTimeout as delay } from 'node:timers/promises';

// Waits until every process is ready, so that the load balancer in deploy/compose.scaled.yml starts with all processes. After
// the timeout, the program exits anyway, because the load balancer can start with fewer processes.

const POLL_EVERY_MS = 250;
const RESPONSE_TIMEOUT_MS = 3_000;

const [seconds = '', ...hosts] = process.argv.slice(2);
const timeout = AbortSignal.timeout(Number(seconds) * 1_000);

/** Resolves to true if the process on this host becomes ready before the timeout. */
async function untilReady(host: string): Promise<boolean> {
  while (!timeout.aborted) {
    if (await isReady(host)) return true;
    await delay(POLL_EVERY_MS, undefined, { signal: timeout }).catch(() => {});
  }
  return false;
}

async function isReady(host: string): Promise<boolean> {
  try {
    const signal = AbortSignal.any([timeout, AbortSignal.timeout(RESPONSE_TIMEOUT_MS)]);
    const response = await fetch(`http://${host}/readyz`, { signal });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

const readiness = await Promise.all(hosts.map(untilReady));
const late = hosts.filter((_host, at) => readiness[at] === false);
if (late.length > 0) console.error(`Not ready within ${seconds} s: ${late.join(', ')}`);
process.exit(); // closes idle connections
