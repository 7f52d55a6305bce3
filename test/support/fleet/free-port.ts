import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

/** The kernel assigns only ports from 32768 upwards (ip(7)), so it never assigns a port from this lower range. */
const LOWEST = 12_000;
const PORTS = 20_000;

let last = Math.floor(Math.random() * PORTS);

/**
 * Resolves with an unused port on the loopback interface and reserves it until this process ends. Other tests on this machine
 * don't use the port, even while no process listens on it.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    last = (last + 1) % PORTS;
    const port = LOWEST + last;
    // The kernel removes an abstract socket when its process ends, for whatever reason (unix(7)).
    const reservation = await listen({ path: `\0cloakroom-test-port-${port}` });
    reservation?.unref();
    const probe = reservation && (await listen({ host: '127.0.0.1', port }));
    if (probe === null) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
  throw new Error('there is no free port');
}

/** Starts a server. Resolves with null if the address is in use. */
async function listen(options: ListenOptions) {
  const server = createServer().listen(options);
  return once(server, 'listening').then(
    () => server,
    () => null,
  );
}
