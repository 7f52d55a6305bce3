import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import { createDrain } from '../platform/draining.ts';
import { dropBehind } from '../platform/lingering-close.ts';
import type { BoundPort } from '../platform/listening.ts';

const DRAIN_MS = 2_000;

/** Serves on a bound port. Disposed of, it lets the calls under way finish, for two seconds. */
export async function serve(listener: RequestListener, bound: BoundPort): Promise<AsyncDisposable> {
  const server = createServer();
  const { drain, lastDue } = createDrain(server);
  server.on('request', (req, res) => {
    if (lastDue(req.socket) !== res) dropBehind(req.socket);
    else listener(req, res);
  });
  await bound.handOver(server);
  return {
    async [Symbol.asyncDispose]() {
      await drain(DRAIN_MS);
    },
  };
}
