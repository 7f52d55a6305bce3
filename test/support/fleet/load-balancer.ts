import { startHaproxy } from '../haproxy.mjs';
import { startFleet, type Fleet } from './fleet.ts';
import { freePort } from './free-port.ts';

/** HAProxy as `deploy/haproxy.cfg` sets it up, in a process of its own. */
interface Balancer extends AsyncDisposable {
  /** What it has logged so far: a line for each call, among others. */
  logged(): string;
}

/** A fleet of three behind a balancer. */
export interface BalancedFleet extends Fleet {
  /** What a browser sees: the balancer's address. */
  readonly url: string;
  readonly balancer: Balancer;
}

/** Starts three processes and a balancer before them; the variables are Cloakroom's and the local service's. */
export async function startBalancedFleet(
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, string>> = {},
): Promise<BalancedFleet> {
  // PUBLIC_URL must be known before the processes are, and the processes before the balancer.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const fleet = await startFleet({
    processes: 3,
    env: { PUBLIC_URL: url, TRUST_PROXY: '1', ...env },
    service: { LOCAL_SERVICE_REDIRECT_URIS: `${url}/auth/callback`, ...service },
  });
  const balancer = await startHaproxy(
    port,
    fleet.processes.map((cloakroom) => new URL(cloakroom.url).host),
  );
  return {
    ...fleet,
    url,
    balancer: {
      logged: () => balancer.printed(),
      [Symbol.asyncDispose]: async () => balancer[Symbol.asyncDispose](),
    },
    async [Symbol.asyncDispose]() {
      await balancer[Symbol.asyncDispose]();
      await fleet[Symbol.asyncDispose]();
    },
  };
}
