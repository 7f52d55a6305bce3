import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { StartupError } from '../errors.ts';

/** An address that is taken or may not be taken, said in one line. */
class AddressError extends StartupError {
  override readonly name = 'AddressError';
}

/** A port that is already ours. */
export interface BoundPort extends AsyncDisposable {
  readonly port: number;
  /** Where it is reached on this machine, e.g. `http://127.0.0.1:3000`. */
  readonly url: string;
  /** Lets the server take the port over, with those who came before; resolves once it listens. */
  handOver(server: HttpServer): Promise<void>;
}

/**
 * Binds `host:port` (0 picks a free one) before anything that must know the number is made. Rejects with an
 * AddressError that names the setting to change, which begins with `prefix`.
 */
export async function bindPort(host: string, port: number, prefix = ''): Promise<BoundPort> {
  const socket = createServer({ pauseOnConnect: true });
  // Who comes before the server waits for it: whoever finds the port open may take it for the server's.
  const early = new Set<Socket>();
  socket.on('connection', (connection) => {
    early.add(connection);
    connection.on('error', () => connection.destroy()).once('close', () => early.delete(connection));
  });
  socket.listen({ host, port });
  try {
    await once(socket, 'listening');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE'
        ? `is already in use. Free it, or set ${prefix}PORT to another port.`
        : `can't be listened on (${code}). Set ${prefix}HOST or ${prefix}PORT otherwise.`;
    throw new AddressError(`${host}:${port} ${why}`, { cause: error });
  }
  const bound = (socket.address() as AddressInfo).port;
  return {
    port: bound,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async handOver(server) {
      await new Promise<void>((resolve) => server.listen(socket, resolve));
      for (const connection of early) {
        early.delete(connection);
        server.emit('connection', connection);
        connection.resume();
      }
    },
    // Lets the port go where no server has taken it over; after one has closed it, this does nothing.
    async [Symbol.asyncDispose]() {
      socket.close();
      for (const connection of early) connection.destroy();
    },
  };
}
