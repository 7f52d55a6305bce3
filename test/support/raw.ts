import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestApp } from './test-app.ts';

/** Longer than Cloakroom waits for the service: what hangs there is to be told by its answer. */
const SILENCE_MS = 60_000;

/**
 * Sends bytes as they are over a connection of its own, and gives all that comes back until it is closed. Rejects where
 * nothing comes for a minute.
 */
export async function exchangeBytes(port: number, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error('No answer in time.')));
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** Sends a request to Cloakroom as it stands, its head included, and gives the answer as text. */
export async function sendRaw(testApp: TestApp, text: string): Promise<string> {
  return (await exchangeBytes(testApp.config.port, Buffer.from(text))).toString('latin1');
}
