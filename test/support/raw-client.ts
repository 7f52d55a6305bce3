import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestApp } from './test-app.ts';

/** Longer than Cloakroom waits for the service: its response ends a request that hangs there. */
const SILENCE_MS = 60_000;

/** One end of a connection, of which a test sees every byte. */
export type RawEnd = ReturnType<typeof watch>;

/** Watches a connection, after the bytes `received` so far. Destroys it after a minute without a byte, so that no test hangs. */
export function watch(socket: Socket, received: readonly Buffer[] = []) {
  const chunks = [...received];
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
    /** All bytes so far, as Latin-1: one character a byte. */
    text,
    /** How many bytes have arrived so far. */
    bytes: () => chunks.reduce((sum, chunk) => sum + chunk.length, 0),
    /** Resolves with all bytes so far once the pattern is in them. Rejects where the connection closes without it. */
    async until(pattern: string | RegExp): Promise<string> {
      while (!isIn(pattern)) {
        const closed = await Promise.race([over, once(socket, 'data').then(() => null)]);
        if (closed !== null && !isIn(pattern))
          throw new Error(`${closed} without ${String(pattern)}: ${text()}`);
      }
      return text();
    },
    /**
     * Resolves when the connection has closed: with 'end' where the other side ended it in order, else with the code of its
     * error, whichever was first; with 'closed' where there was neither.
     */
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

/** Connects, and reads one byte at a time. Behind the last bytes of a larger read, Node takes a reset for the end. */
export function openByteReader(port: number): Socket {
  return connect({ port, host: '127.0.0.1', onread: { buffer: Buffer.alloc(1), callback: () => true } });
}

/** Resolves with `end`, or with the code of the error, once the connection has closed. */
export async function outcomeOf(socket: Socket): Promise<string> {
  let outcome = 'end';
  socket.on('error', ({ code, message }: NodeJS.ErrnoException) => (outcome = code ?? message));
  await new Promise((resolve) => socket.once('close', resolve));
  return outcome;
}

/** Sends bytes over a connection of its own. Resolves with all bytes in return once it closes; rejects where an error ends it. */
export async function exchangeBytes(port: number, bytes: Uint8Array): Promise<Buffer> {
  const { socket, text } = watch(connect(port, '127.0.0.1'));
  socket.write(bytes);
  await once(socket, 'close');
  return Buffer.from(text(), 'latin1');
}

/** Sends a request, head and body, to Cloakroom as it stands. Resolves with the response as Latin-1. */
export async function sendRaw(testApp: TestApp, text: string): Promise<string> {
  return (await exchangeBytes(testApp.config.port, Buffer.from(text))).toString('latin1');
}
