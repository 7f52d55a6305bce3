import { fileURLToPath } from 'node:url';
import { startKeptProgram } from './kept-program.mjs';

/** The very file that operators are given. */
const CONFIG = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url));

/**
 * HAProxy as `deploy/haproxy.cfg` sets it up, in a process of its own, before three processes of Cloakroom. Resolves once it
 * answers; what it prints is its log, with a line for each call.
 * @param {number} port
 * @param {readonly string[]} hosts `127.0.0.1:port`
 */
export async function startHaproxy(port, hosts) {
  const servers = hosts.map((host, at) => [`CLOAKROOM_${at + 1}`, host]);
  const env = { BIND: `127.0.0.1:${port}`, ...Object.fromEntries(servers) };
  const isUp = async () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  return startKeptProgram(['haproxy', '-db', '-f', CONFIG], env, isUp);
}
