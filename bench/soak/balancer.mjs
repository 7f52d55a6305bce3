import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The very file that operators are given. */
const CONFIG = fileURLToPath(new URL('../../deploy/haproxy.cfg', import.meta.url));

/** The shell ends HAProxy when the pipe on its standard input closes: because we asked for it, or ended in any way. */
const KEEPER = `
  exec 3<&0
  haproxy -db -f "$1" </dev/null >/dev/null 2>&1 3<&- &
  pid=$!
  { cat >/dev/null; kill "$pid" 2>/dev/null; } <&3 >/dev/null 2>&1 &
  exec 3<&-
  wait "$pid"
`;

/**
 * HAProxy before three processes of Cloakroom. Resolves once it has one that is ready.
 * @param {number} port
 * @param {readonly string[]} hosts `127.0.0.1:port`
 */
export async function startBalancer(port, hosts) {
  const servers = hosts.map((host, at) => /** @type {const} */ ([`CLOAKROOM_${at + 1}`, host]));
  const keeper = spawn('sh', ['-c', KEEPER, 'haproxy-keeper', CONFIG], {
    env: { PATH: process.env['PATH'], BIND: `127.0.0.1:${port}`, ...Object.fromEntries(servers) },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  const exited = once(keeper, 'close');
  const isReady = async () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (keeper.exitCode !== null) throw new Error('HAProxy did not start.');
    await delay(50);
  }
  let isStopped = false;
  return {
    async stop() {
      if (isStopped) return;
      isStopped = true;
      keeper.stdin.end();
      await exited;
    },
  };
}
