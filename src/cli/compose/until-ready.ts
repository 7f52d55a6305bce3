import { setTimeout as delay } from 'node:timers/promises';

// For deploy/compose.scaled.yml: waits until all of these can serve, so that the balancer begins with what it can use. After so many
// seconds it waits no longer: a balancer before processes that say what they miss is better than none.
//   until-ready.js SECONDS HOST:PORT …

const ASK_EVERY_MS = 250;
/** For one answer. */
const WITHIN_MS = 3_000;

const [seconds = '', ...hosts] = process.argv.slice(2);
const over = AbortSignal.timeout(Number(seconds) * 1_000);

/** Resolves with true once it can; with false where the time is over. */
async function untilReady(host: string): Promise<boolean> {
  while (!over.aborted) {
    if (await isReady(host)) return true;
    await delay(ASK_EVERY_MS, undefined, { signal: over }).catch(() => {});
  }
  return false;
}

async function isReady(host: string): Promise<boolean> {
  try {
    const signal = AbortSignal.any([over, AbortSignal.timeout(WITHIN_MS)]);
    const answer = await fetch(`http://${host}/readyz`, { signal });
    await answer.body?.cancel();
    return answer.status === 200;
  } catch {
    return false; // not there yet
  }
}

const readiness = await Promise.all(hosts.map(untilReady));
const late = hosts.filter((_host, at) => readiness[at] === false);
if (late.length > 0) console.error(`Not ready within ${seconds} s: ${late.join(', ')}`);
process.exit(); // whatever is still open
