import { once } from 'node:events';
import { createServer, type ListenOptions } from 'node:net';

/** The kernel gives ports from 32768 on (ip(7)). So no other process gets one of these, even while it is closed for a while. */
const LOWEST = 12_000;
const PORTS = 20_000;

let last = Math.floor(Math.random() * PORTS);

/**
 * Resolves with an unused port of the loopback interface, and reserves it against other tests of this machine until this process
 * ends. A program may use it, leave it, and use it again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries += 1) {
    last = (last + 1) % PORTS;
    const port = LOWEST + last;
    // The kernel forgets an abstract socket when its process ends, however it ends (unix(7)).
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

/** Null where the address is in use. */
async function listen(options: ListenOptions) {
  const server = createServer().listen(options);
  return once(server, 'listening').then(
    () => server,
    () => null,
  );
}
