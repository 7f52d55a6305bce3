import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createDeferred } from '../../../src/promises.ts';
import type { Deferred } from '../../../src/promises.ts';
import { startTcpServer } from '../tcp-server.ts';
import type { Barrier } from './barrier.ts';

/** A TCP proxy before a Redis whose responses arrive late. */
export interface RedisProxy extends AsyncDisposable {
  /** For `REDIS_URL`. */
  readonly url: string;
  /** From now on, what Redis says arrives this much later (ms). */
  delayMs: number;
  /** Only what it says after commands with this text; all have the empty one. */
  onlyAfter: string;
  /** The first command that looks like this, and all that come after it, wait at the line until it thaws. */
  freezeAt: RegExp | null;
  isFrozen(): boolean;
  /** What Redis says to a command that looks like this passes the gate, as does all that it says later on that connection. */
  replies: { readonly to: RegExp; readonly gate: Barrier } | null;
  /** What waits at the line. */
  held(): string;
  thaw(): void;
}

/** Starts it before a port of the loopback interface; at first it delays nothing. */
export async function startRedisProxy(port: number): Promise<RedisProxy> {
  const line = {
    delayMs: 0,
    onlyAfter: '',
    freezeAt: null as RegExp | null,
    replies: null as RedisProxy['replies'],
  };
  let ice: Deferred<void> | null = null;
  let held = '';

  const server = await startTcpServer((near) => {
    const far = connect(port, '127.0.0.1');
    let said = Promise.resolve();
    let asked: Buffer = Buffer.alloc(0);
    let passed = Promise.resolve();
    far.on('data', (chunk) => {
      const waited = delay(asked.includes(line.onlyAfter) ? line.delayMs : 0);
      // Never before what was said earlier, which may have been delayed for longer.
      said = said.then(async () => waited).then(() => void near.write(chunk));
    });
    near.on('data', (chunk: Buffer) => {
      asked = chunk;
      if (line.freezeAt?.test(chunk.toString('latin1')) === true) ice ??= createDeferred();
      const thawed = ice?.promise;
      const { replies } = line;
      if (replies?.to.test(chunk.toString('latin1')) === true)
        said = said.then(async () => replies.gate.pass());
      if (ice !== null) held += chunk.toString('latin1');
      passed = passed.then(async () => thawed).then(() => void far.write(chunk));
    });
    far.on('error', () => {}).once('close', () => near.destroy());
    near.once('close', () => far.destroy());
    for (const socket of [near, far]) socket.setNoDelay(true);
  });

  return Object.assign(line, {
    isFrozen: () => ice !== null,
    held: () => held,
    thaw: () => {
      held = '';
      line.freezeAt = null;
      ice?.resolve();
      ice = null;
    },
    url: `redis://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}
