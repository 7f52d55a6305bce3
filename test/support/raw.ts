import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestApp } from './test-app.ts';

/** Longer than Cloakroom waits for the service: its response ends a request that hangs there. */
const SILENCE_MS = 60_000;

/** Sends bytes over a connection of its own. Resolves with all bytes in return once it closes; rejects after a silent minute. */
export async function exchangeBytes(port: number, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1');
  socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error('no response in time')));
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks);
}

/** Sends a request, head and body, to Cloakroom as it stands. Resolves with the response as Latin-1. */
export async function sendRaw(testApp: TestApp, text: string): Promise<string> {
  return (await exchangeBytes(testApp.config.port, Buffer.from(text))).toString('latin1');
}
