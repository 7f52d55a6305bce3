import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

/**
 * Below what the kernel gives to those who ask for any port or connect somewhere (from 32768 on, ip(7)): none of them gets one
 * of these, not even while it is closed for a while.
 */
const LOWEST = 12_000;
const PORTS = 20_000;

/** Not where others begin to look. */
let last = Math.floor(Math.random() * PORTS);

/**
 * A port of the loopback interface on which nobody listens. No other test of this machine is given it as long as this process
 * lives: a program may take it later, leave it, and take it again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    last = (last + 1) % PORTS;
    const port = LOWEST + last;
    if (!(await isReserved(port))) continue;
    const probe = await listening({ host: '127.0.0.1', port });
    if (probe === null) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
  throw new Error('there is no free port');
}

/** By a name that the kernel forgets when the process ends, however it does (unix(7), abstract sockets). */
async function isReserved(port: number): Promise<boolean> {
  const name = await listening({ path: `\0cloakroom-test-port-${port}` });
  name?.unref();
  return name !== null;
}

/** Null where somebody else is there. */
async function listening(options: ListenOptions) {
  const server = createServer().listen(options);
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return null;
  }
}
