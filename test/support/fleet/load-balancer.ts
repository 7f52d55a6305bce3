import { startHaproxy } from '../haproxy.mjs';
import { startFleet } from './fleet.ts';
import { freePort } from './free-port.ts';

/** Three Cloakroom processes behind HAProxy with `deploy/haproxy.cfg`. */
export type BalancedFleet = Awaited<ReturnType<typeof startBalancedFleet>>;

/** Starts three processes behind HAProxy, with environment variables for Cloakroom and for the local service. */
export async function startBalancedFleet(
  env: Readonly<Record<string, string>> = {},
  service: Readonly<Record<string, string>> = {},
) {
  // Choose the port before the processes start, because they need it for PUBLIC_URL.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const fleet = await startFleet({
    processes: 3,
    env: { PUBLIC_URL: url, TRUST_PROXY: '1', ...env },
    service: { LOCAL_SERVICE_REDIRECT_URIS: `${url}/auth/callback`, ...service },
  });
  const haproxy = await startHaproxy(
    port,
    fleet.processes.map((cloakroom) => new URL(cloakroom.url).host),
  );
  return {
    ...fleet,
    /** The URL at which browsers reach HAProxy. */
    url,
    /** Returns HAProxy's log so far. */
    haproxyLog: () => haproxy.printed(),
    async [Symbol.asyncDispose]() {
      await haproxy[Symbol.asyncDispose]();
      await fleet[Symbol.asyncDispose]();
    },
  };
}
