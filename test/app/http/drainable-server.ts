import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { trackConnections } from '../../../src/http/connection.ts';
import { createShutdown } from '../../../src/http/shutdown.ts';
import type { Shutdown } from '../../../src/http/shutdown.ts';

/** Far beyond any test. */
const LONG_MS = 60_000;

/** A server that can drain. Its handler hears whether the drain refuses a request. */
export function createDrainable(
  handle: (req: IncomingMessage, res: ServerResponse, isRefused: boolean) => unknown,
  options: Parameters<typeof createShutdown>[2] = {},
): { readonly server: Server } & Pick<Shutdown, 'drain' | 'isDraining'> {
  const server = createServer();
  const connections = trackConnections(server, LONG_MS, LONG_MS);
  const { drain, isDraining, watch, refuses } = createShutdown(server, connections, options);
  server.on('request', (req, res) => {
    const connection = connections.get(req.socket);
    connection?.begin(req, res, () => {
      watch(connection, req, res);
      handle(req, res, refuses(connection));
    });
  });
  return { server, drain, isDraining };
}
