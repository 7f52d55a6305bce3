import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createDrain } from '../platform/draining.ts';
import type { BoundPort } from '../platform/listening.ts';

const DRAIN_MS = 2_000;

/** Serves on a bound port. Disposed of, it lets the calls under way finish, for two seconds. */
export async function serve(listener: RequestListener, bound: BoundPort): Promise<AsyncDisposable> {
  const server = createServer();
  const { drain } = createDrain(server);
  server.on('request', listener);
  await bound.handOver(server);
  return {
    async [Symbol.asyncDispose]() {
      await drain(DRAIN_MS);
    },
  };
}
