import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createDeferred } from '../../../src/platform/deferred.ts';
import type { Deferred } from '../../../src/platform/deferred.ts';

/** A TCP proxy before a Redis whose answers arrive late. */
export interface SlowLine extends AsyncDisposable {
  /** For `REDIS_URL`. */
  readonly url: string;
  /** From now on, what Redis says arrives this much later (ms). */
  delayMs: number;
  /** Only what it says after commands with this text; all have the empty one. */
  onlyAfter: string;
  /** The first command that looks like this, and all that come after it, wait at the line until it thaws. */
  freezeAt: RegExp | null;
  isFrozen(): boolean;
  thaw(): void;
}

/** Starts it before a port of the loopback interface; at first it delays nothing. */
export async function startSlowLine(port: number): Promise<SlowLine> {
  const sockets = new Set<Socket>();
  const line = { delayMs: 0, onlyAfter: '', freezeAt: null as RegExp | null };
  let ice: Deferred<void> | null = null;

  const server = createServer((near) => {
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
      passed = passed.then(async () => thawed).then(() => void far.write(chunk));
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {}); // 'close' follows
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return Object.assign(line, {
    isFrozen: () => ice !== null,
    thaw: () => {
      line.freezeAt = null;
      ice?.resolve();
      ice = null;
    },
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  });
}
