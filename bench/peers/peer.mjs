import { once } from 'node:events';

/** What every peer is told about the settings: the upstream's origin, Redis, and more of its own. */
export const settings = /** @type {Record<string, string>} */ (
  JSON.parse(process.env['PEER_SETTINGS'] ?? '{}')
);

/**
 * Listens on a port that is free, and tells it to the benchmark.
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
