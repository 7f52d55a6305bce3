import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { BoundPort } from '../http/listening.ts';

const DRAIN_MS = 2_000;

/** Serves on a bound port. Its disposal lets requests in progress finish, for two seconds. */
export async function serve(listener: RequestListener, bound: BoundPort): Promise<AsyncDisposable> {
  const server = createServer(listener);
  await bound.handOver(server);
  return {
    async [Symbol.asyncDispose]() {
      const tooLate = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(tooLate);
      server.closeAllConnections(); // close() does not wait for connections that were accepted before the server was up
    },
  };
}
