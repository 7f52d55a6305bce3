import { startHaproxy } from '../haproxy.mjs';
import { startFleet, type Fleet } from './fleet.ts';
import { freePort } from './free-port.ts';

/** Three processes behind HAProxy, as `deploy/haproxy.cfg` sets it up. */
export interface BalancedFleet extends Fleet {
  /** The address of HAProxy, which a browser uses. */
  readonly url: string;
  /** The log of HAProxy so far. */
  balancerLog(): string;
}

/** Starts three processes and HAProxy in front of them; the variables are Cloakroom's and the local service's. */
export async function startBalancedFleet(
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, string>> = {},
): Promise<BalancedFleet> {
  // The processes need PUBLIC_URL, and HAProxy needs the processes.
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
    balancerLog: () => balancer.printed(),
    async [Symbol.asyncDispose]() {
      await balancer[Symbol.asyncDispose]();
      await fleet[Symbol.asyncDispose]();
    },
  };
}
