import { freePort } from '../fleet/free-port.ts';
import { startFleet } from '../fleet/fleet.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { ready } from '../fleet/ready.ts';

/** A fleet before a service whose tokens are soon spent, and which takes each refresh token once. */
export interface TwoProcesses extends Fleet {
  /** Where a browser signs in: the second process. */
  readonly origin: string;
}

/** Longer than any failover here, so that what is renewed in one can be used after it. */
const TOKEN_SECONDS = 6;

/** Starts two processes of Cloakroom beside the Redis of this `REDIS_URL`; resolves when both are ready. */
export async function startTwoProcesses(redisUrl: string): Promise<TwoProcesses> {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const fleet = await startFleet({
    redisUrl,
    env: { PUBLIC_URL: origin },
    service: {
      LOCAL_SERVICE_REDIRECT_URIS: `${origin}/auth/callback`,
      LOCAL_SERVICE_ROTATE_REFRESH: 'true',
      LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: String(TOKEN_SECONDS),
    },
  });
  try {
    await fleet.add({ PORT: String(port) });
    await Promise.all(fleet.processes.map(ready));
    return { ...fleet, origin };
  } catch (error) {
    await fleet[Symbol.asyncDispose](); // processes of Cloakroom don't end with the test's
    throw error;
  }
}
