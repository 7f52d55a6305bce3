import { once } from 'node:events';
import { connect } from 'node:net';
import type { House } from './house.ts';

/** Sends bytes as they are and gives all that comes back. */
export async function sendRaw(house: House, bytes: string): Promise<string> {
  const socket = connect(house.config.port, '127.0.0.1');
  socket.write(bytes);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString('latin1');
}
