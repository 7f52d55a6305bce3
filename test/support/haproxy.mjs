import { fileURLToPath } from 'node:url';
import { startChildProgram } from './child-program.mjs';

/** The configuration that operators use. */
const CONFIG = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url));

/**
 * Starts HAProxy with `deploy/haproxy.cfg` in front of three Cloakroom processes. Resolves once HAProxy responds.
 * HAProxy prints its log, one line for each request.
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
  return startChildProgram(['haproxy', '-db', '-f', CONFIG], env, isUp);
}
