import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { StartupError } from '../errors.ts';

/**
 * Ignores the `error` event that a server emits if it can't accept a connection, for example when file descriptors run out.
 * Without a listener, the event would end the process.
 */
const ignoreError = () => {};

export type BoundPort = Awaited<ReturnType<typeof bindPort>>;

/**
 * Binds `host:port` (0 picks a free port) before the server exists, because the configuration may depend on the port number.
 * Clients may take an open port for a ready server, so early connections are kept until the server takes over. If binding
 * fails, rejects with a StartupError that names the settings to change, which begin with `prefix`.
 */
export async function bindPort(host: string, port: number, prefix = '') {
  const listener = createServer({ pauseOnConnect: true });
  const early = new Set<Socket>();
  listener.on('connection', (connection) => {
    early.add(connection);
    connection.on('error', () => connection.destroy()).once('close', () => early.delete(connection));
  });
  listener.listen({ host, port });
  try {
    await once(listener, 'listening');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const reason =
      code === 'EADDRINUSE'
        ? `is already in use. Free it, or set ${prefix}PORT to another port.`
        : `can't be bound (${code}). Change ${prefix}HOST or ${prefix}PORT.`;
    throw new StartupError(`${host}:${port} ${reason}`, { cause: error });
  }
  listener.on('error', ignoreError);
  const bound = (listener.address() as AddressInfo).port;
  return {
    port: bound,
    /** The URL of the port, for example `http://127.0.0.1:3000`. */
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    /** Passes the port and its early connections to a server. Resolves once the server is listening. */
    async handOver(server: HttpServer): Promise<void> {
      server.on('error', ignoreError);
      await new Promise<void>((resolve) => server.listen(listener, resolve));
      for (const connection of early) {
        early.delete(connection);
        server.emit('connection', connection);
        connection.resume();
      }
    },
    /** Frees the port, unless a server has taken it over. */
    async [Symbol.asyncDispose](): Promise<void> {
      listener.close();
      for (const connection of early) connection.destroy();
    },
  };
}
