import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { StartupError } from './program.ts';

/** An address that is taken or may not be taken, said in one line. */
class AddressError extends StartupError {
  override readonly name = 'AddressError';
}

/** A port that is already ours; an http.Server takes it over with `listen(bound.socket)`. */
export interface BoundPort extends AsyncDisposable {
  readonly socket: Server;
  readonly port: number;
  /** Where it is reached on this machine, e.g. `http://127.0.0.1:3000`. */
  readonly url: string;
}

/**
 * Binds `host:port` (0 picks a free one) before anything that must know the number is made. Rejects with an
 * AddressError that names `variable`, the setting to change.
 */
export async function bindPort(host: string, port: number, variable: string): Promise<BoundPort> {
  const socket = createServer();
  // Who comes before the server that takes over is turned away: an open connection would wait for nobody.
  socket.on('connection', (early) => early.destroy());
  socket.listen({ host, port });
  try {
    await once(socket, 'listening');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'is already in use' : `can't be listened on (${code})`;
    throw new AddressError(`${host}:${port} ${why}. Free it, or set ${variable} to another port.`, {
      cause: error,
    });
  }
  const bound = (socket.address() as AddressInfo).port;
  return {
    socket,
    port: bound,
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    // Lets the port go where no server has taken it over; after one has closed it, this does nothing.
    async [Symbol.asyncDispose]() {
      socket.close();
    },
  };
}
