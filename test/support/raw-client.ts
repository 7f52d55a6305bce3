import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Longer than Cloakroom waits for the service: what hangs there is to be told by its answer. */
const SILENCE_MS = 60_000;

/** One end of a connection, of which a test sees every byte as it comes. */
export interface RawEnd {
  readonly socket: Socket;
  /** All that has come so far; Latin-1, a character a byte. */
  text(): string;
  /** How many bytes have come so far. */
  bytes(): number;
  /** Resolves with all that has come once this is in it; rejects where the connection closes without. */
  until(pattern: string | RegExp): Promise<string>;
  /**
   * Resolves when the connection is over: with 'end' where the other side closed it in order, else with the error's
   * code, whichever came first; with 'closed' where there was neither.
   */
  readonly over: Promise<string>;
}

/**
 * Watches a connection from now on, with what has come already. Destroys it where nothing comes for a minute, so that no
 * test waits for ever.
 */
export function watch(socket: Socket, came: readonly Buffer[] = []): RawEnd {
  const chunks = [...came];
  let outcome: string | null = null;
  const text = () => Buffer.concat(chunks).toString('latin1');
  socket
    .on('data', (chunk: Buffer) => chunks.push(chunk))
    .on('end', () => (outcome ??= 'end'))
    .on('error', (error: NodeJS.ErrnoException) => (outcome ??= error.code ?? error.message))
    .setTimeout(SILENCE_MS, () => socket.destroy(new Error('nothing came in time')));
  const over = new Promise<string>((resolve) => socket.once('close', () => resolve(outcome ?? 'closed')));
  const isIn = (pattern: string | RegExp) =>
    typeof pattern === 'string' ? text().includes(pattern) : pattern.test(text());
  return {
    socket,
    text,
    bytes: () => chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    async until(pattern) {
      while (!isIn(pattern)) {
        const closed = await Promise.race([over, once(socket, 'data').then(() => null)]);
        if (closed !== null && !isIn(pattern))
          throw new Error(`${closed} without ${String(pattern)}: ${text()}`);
      }
      return text();
    },
    over,
  };
}

/** Opens a connection to a port of this machine. */
export async function openConnection(port: number): Promise<RawEnd> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  const end = watch(socket);
  await once(socket, 'connect');
  return end;
}
