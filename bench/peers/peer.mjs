import { once } from 'node:events';

/** The settings for this peer: the upstream origin, the Redis URL, a folder, and the peer's own settings. */
export const settings = /** @type {Record<string, string>} */ (
  JSON.parse(process.env['PEER_SETTINGS'] ?? '{}')
);

/**
 * Listens on a free port and sends the port number to the benchmark.
 * @param {import('node:http').Server} server
 */
export async function listenAndReport(server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  reportPort(/** @type {import('node:net').AddressInfo} */ (server.address()).port);
}

/** @param {number} port */
export function reportPort(port) {
  process.send?.({ port });
}
