import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createDeferred, type Deferred } from '../../../src/promises.ts';
import { startTcpServer } from '../tcp-server.ts';
import type { Barrier } from './barrier.ts';

/** A TCP proxy in front of Redis that can delay and hold commands and replies. */
export type RedisProxy = Awaited<ReturnType<typeof startRedisProxy>>;

/** Starts a proxy in front of a port on the loopback interface. */
export async function startRedisProxy(port: number) {
  const proxy = {
    /** The time by which replies are delayed, in ms. */
    delayMs: 0,
    /** Delays only replies to commands that contain this text. An empty string matches all commands. */
    delayRepliesTo: '',
    /** Holds the first matching command and all later commands until `unfreeze` is called. */
    freezeAt: null as RegExp | null,
    /** Holds the reply to a matching command, and all later replies on that connection, at the barrier. */
    holdReplies: null as { readonly to: RegExp; readonly barrier: Barrier } | null,
  };
  let frozen: Deferred<void> | null = null;
  let held = '';

  const server = await startTcpServer((near) => {
    const far = connect(port, '127.0.0.1');
    let replied = Promise.resolve();
    let command: Buffer = Buffer.alloc(0);
    let passed = Promise.resolve();
    far.on('data', (chunk) => {
      const waited = delay(command.includes(proxy.delayRepliesTo) ? proxy.delayMs : 0);
      // Keep the order of replies, because an earlier reply may have a longer delay.
      replied = replied.then(async () => waited).then(() => void near.write(chunk));
    });
    near.on('data', (chunk: Buffer) => {
      command = chunk;
      if (proxy.freezeAt?.test(chunk.toString('latin1')) === true) frozen ??= createDeferred();
      const unfrozen = frozen?.promise;
      const { holdReplies } = proxy;
      if (holdReplies?.to.test(chunk.toString('latin1')) === true)
        replied = replied.then(async () => holdReplies.barrier.pass());
      if (frozen !== null) held += chunk.toString('latin1');
      passed = passed.then(async () => unfrozen).then(() => void far.write(chunk));
    });
    far.on('error', () => {}).once('close', () => near.destroy());
    near.once('close', () => far.destroy());
    for (const socket of [near, far]) socket.setNoDelay(true);
  });

  return Object.assign(proxy, {
    isFrozen: () => frozen !== null,
    /** Returns the held commands. */
    heldCommands: () => held,
    unfreeze: () => {
      held = '';
      proxy.freezeAt = null;
      frozen?.resolve();
      frozen = null;
    },
    /** The value for `REDIS_URL`. */
    url: `redis://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}
