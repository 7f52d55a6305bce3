import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

/** The kernel assigns ports from 32768 up (ip(7)), so no process is assigned one of these, even while it is closed. */
const LOWEST = 12_000;
const PORTS = 20_000;

let last = Math.floor(Math.random() * PORTS);

/**
 * Resolves with an unused port on the loopback interface, and reserves it until this process ends. Other tests on this machine
 * don't use it, even while it is closed.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    last = (last + 1) % PORTS;
    const port = LOWEST + last;
    // The kernel removes an abstract socket when its process ends for any reason (unix(7)).
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

/** Resolves with null if the address is in use. */
async function listen(options: ListenOptions) {
  const server = createServer().listen(options);
  return once(server, 'listening').then(
    () => server,
    () => null,
  );
}
