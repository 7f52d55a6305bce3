import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on a free port. Disposal closes all connections. */
export interface HttpServer extends AsyncDisposable {
  readonly port: number;
}

export async function startHttpServer(listener: RequestListener, host = '127.0.0.1'): Promise<HttpServer> {
  const server = createServer(listener).listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
