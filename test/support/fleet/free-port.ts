import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** From 32,768 on Linux gives ports to whoever asks for any, and that may be the one that was just found free. */
const FIRST = 20_000;
const LAST = 32_767;
/** Those who run at the same time take ports in turn, each its own. */
const LANES = 8;
const LANE = Number(process.env['JEST_WORKER_ID'] ?? 1) % LANES;
const ROUNDS = Math.floor((LAST - FIRST + 1) / LANES);

let round = randomInt(ROUNDS);

/** A port of the loopback interface on which nobody listens, for who can't let the kernel choose; another one each time. */
export async function freePort(): Promise<number> {
  for (;;) {
    round = (round + 1) % ROUNDS;
    const port = FIRST + round * LANES + LANE;
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
