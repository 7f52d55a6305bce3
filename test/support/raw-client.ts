import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestApp } from './test-app.ts';

/** Longer than Cloakroom waits for the service, so that Cloakroom's timeout ends a hung request first. */
const SILENCE_MS = 60_000;

/** One end of a connection, on which a test sees every byte. */
export type RawConnection = ReturnType<typeof watchConnection>;

/** Watches a connection on which `received` has already arrived. Destroys the connection after an idle minute, so that no test hangs. */
export function watchConnection(socket: Socket, received: readonly Buffer[] = []) {
  const chunks = [...received];
  let outcome: string | null = null;
  const text = () => Buffer.concat(chunks).toString('latin1');
  socket
    .on('data', (chunk: Buffer) => chunks.push(chunk))
    .on('end', () => (outcome ??= 'end'))
    .on('error', (error: NodeJS.ErrnoException) => (outcome ??= error.code ?? error.message))
    .setTimeout(SILENCE_MS, () => socket.destroy(new Error('no data arrived in time')));
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(outcome ?? 'closed')));
  const isIn = (pattern: string | RegExp) =>
    typeof pattern === 'string' ? text().includes(pattern) : pattern.test(text());
  return {
    socket,
    /** Returns all bytes received so far as a Latin-1 string, one character per byte. */
    text,
    /** Returns the number of bytes received so far. */
    bytes: () => chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    /** Resolves with all bytes received so far once they match the pattern. Rejects if the connection closes first. */
    async until(pattern: string | RegExp): Promise<string> {
      while (!isIn(pattern)) {
        const reason = await Promise.race([closed, once(socket, 'data').then(() => null)]);
        if (reason !== null && !isIn(pattern))
          throw new Error(`${reason} without ${String(pattern)}: ${text()}`);
      }
      return text();
    },
    /**
     * Resolves once the connection has closed, with 'end' if the peer ended it cleanly, or with an error code, whichever came
     * first. Resolves with 'closed' if there was neither an end nor an error.
     */
    closed,
  };
}

/** Opens a connection to a port on this machine. */
export async function openConnection(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1').setNoDelay();
  const end = watchConnection(socket);
  await once(socket, 'connect');
  return end;
}

/** Connects and reads one byte at a time. With larger reads, Node would treat a reset after the last bytes as a clean end. */
export function openByteReader(port: number): Socket {
  return connect({ port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(1), callback: () => true } });
}

/** Resolves with `end` or an error code once the connection has closed. */
export async function waitForClose(socket: Socket): Promise<string> {
  let outcome = 'end';
  socket.on('error', ({ code, message }: NodeJS.ErrnoException) => (outcome = code ?? message));
  await new Promise((resolve) => socket.once('close', resolve));
  return outcome;
}

/** Sends bytes over a new connection. Resolves with all bytes received once the connection closes. Rejects on an error. */
export async function exchangeBytes(port: number, bytes: Uint8Array): Promise<Buffer> {
  const { socket, text } = watchConnection(connect(port, '127.0.0.1'));
  socket.write(bytes);
  await once(socket, 'close');
  return Buffer.from(text(), 'latin1');
}

/** Sends a raw request, head and body, to Cloakroom. Resolves with the response as a Latin-1 string. */
export async function sendRaw(testApp: TestApp, text: string): Promise<string> {
  return (await exchangeBytes(testApp.config.port, Buffer.from(text))).toString('latin1');
}
