import { randomBytes } from 'node:crypto';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { closeRedis, redisReady } from '../../../src/redis/client.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import type { Grant } from '../../../src/session/record.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createSessionStore } from '../../../src/session/store.ts';
import { createSessionCookie } from '../../../src/session/cookie.ts';
import { CLIENT_ID, CLIENT_SECRET, SESSION_KEY, TOKEN_AGE_MS } from '../constants.ts';
import { useFixture } from '../fixtures.ts';
import { recordSecret } from '../log-audit.ts';
import { openClient } from '../redis/clients.ts';
import { startCloakroom, untilReady, type Cloakroom } from './cloakroom.ts';
import { startRedisServer, type RedisServer } from './redis-server.ts';
import { closeConnections } from './requests.ts';
import { startService } from './service.ts';

type Env = Readonly<Record<string, string>>;

/** A session in Redis, stored as a sign-in would store it. */
export interface TestSession {
  /** The id in the cookie. */
  readonly id: string;
  /** The `Cookie` header. */
  readonly cookie: string;
  readonly grant: Grant;
}

/** Several Cloakroom processes that share one Redis and one service. */
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

interface FleetOptions {
  /** The number of processes; 1 by default. */
  readonly processes?: number;
  /** Environment variables for Cloakroom. */
  readonly env?: Env;
  /** `LOCAL_SERVICE_*` variables. */
  readonly service?: Env;
  /** The URL of a Redis server that the test provides. By default, the fleet starts its own server. */
  readonly redisUrl?: string;
}

/** Starts a fleet before the tests in a file or a `describe`, and stops the fleet afterwards. */
export function useFleet(options: FleetOptions | (() => FleetOptions) = {}): Fleet {
  return useFixture(async () => startFleet(typeof options === 'function' ? options() : options));
}

/** Starts a Redis server in which tests can inject faults, and a fleet that uses this server. */
export function useFleetAndRedis(options: FleetOptions): {
  readonly fleet: Fleet;
  readonly redis: RedisServer;
} {
  const redis = useFixture(startRedisServer);
  return { redis, fleet: useFleet(() => ({ ...options, redisUrl: redis.url })) };
}

/** Starts Redis, the service and the processes. */
export async function startFleet(options: FleetOptions = {}) {
  const privateRedis = options.redisUrl === undefined ? await startPrivateRedis() : null;
  const redisUrl = options.redisUrl ?? privateRedis?.url ?? '';
  const redis = await openClient(redisUrl);
  const service = await startService(options.service);

  const sessionKeys = { current: [Buffer.from(SESSION_KEY, 'base64url')] };
  const cookies = createSessionCookie({ https: false, sameSite: 'lax', sessionKeys });
  const store = createSessionStore({
    redis,
    readSession: createSessionReads(redis, 3_600),
    log: createLog('silent'),
    prefix: 'cloakroom:',
    encryption: createEncryption(sessionKeys),
    idleSeconds: 3_600,
    maxSeconds: 43_200,
    now: Date.now,
  });

  const processes: Cloakroom[] = [];
  const started: Cloakroom[] = [];
  const add = async (env: Env = {}) => {
    const cloakroom = await startCloakroom({
      PUBLIC_URL: 'http://localhost:3000',
      SERVICE_URL: service.origin,
      CLIENT_ID,
      CLIENT_SECRET,
      SCOPES: 'room:read room:write workspace:read',
      REDIS_URL: redisUrl,
      SESSION_KEYS: SESSION_KEY,
      SIGN_INS_PER_ADDRESS: '100000', // all requests come from one address
      ...options.env,
      ...env,
    });
    started.push(cloakroom);
    await untilReady(cloakroom);
    processes.push(cloakroom);
    return cloakroom;
  };
  await Promise.all(Array.from({ length: options.processes ?? 1 }, async () => add()));

  const storedGrant = async ({ id }: TestSession) => (await store.peek(id))?.session.record.grant ?? null;
  return {
    service,
    /** The running processes. A test may stop or add processes. */
    processes,
    /** Returns the process at this index, modulo the number of processes. */
    at(count: number): Cloakroom {
      const cloakroom = processes[count % processes.length];
      if (cloakroom === undefined) throw new Error('no process is running');
      return cloakroom;
    },
    /** The value for `REDIS_URL`. */
    redisUrl,
    /** The test's own connection to Cloakroom's Redis. */
    redis,
    /** A session store that uses the test's own connection. */
    store,
    /** The process id of Redis; 0 if the test provides its own Redis. */
    redisPid: privateRedis?.pid ?? 0,
    /** Resolves with the grant that Redis holds for a session, or with null if the session has ended. */
    storedGrant,
    /** Counts the sessions that Redis no longer holds. */
    async countLostSessions(sessions: readonly TestSession[]): Promise<number> {
      await redisReady(redis); // the processes may reconnect before the test does
      const grants = await Promise.all(sessions.map(storedGrant));
      return grants.filter((grant) => grant === null).length;
    },
    /** Returns the token requests that used the session's initial refresh token. */
    refreshesOf: ({ grant }: TestSession) =>
      service.refreshes.filter(({ refreshToken }) => refreshToken === grant.refreshToken),
    /** Starts another process. `env` extends the fleet's variables. */
    add,
    /** Replaces a process that has ended with a new one. */
    async replace(old: Cloakroom, env?: Env): Promise<Cloakroom> {
      const fresh = await add(env);
      processes.splice(processes.indexOf(old), 1, ...processes.splice(processes.indexOf(fresh), 1));
      return fresh;
    },
    /** Stores a session for this user, with a fresh grant and the changes in `changed`. */
    async createSession(user = 'demo', changed: Partial<Grant> = {}): Promise<TestSession> {
      const id = randomBytes(32).toString('base64url');
      const grant = { ...(await service.issue(user)), ...changed };
      recordSecret('session id', id);
      await store.create(id, { grant, createdAt: Date.now() - 2 * TOKEN_AGE_MS });
      return { id, grant, cookie: cookies.write(id).split(';', 1)[0] ?? '' };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map(async (cloakroom) => cloakroom[Symbol.asyncDispose]()));
      await closeConnections();
      await service[Symbol.asyncDispose]();
      await closeRedis(redis);
      await privateRedis?.[Symbol.asyncDispose]();
    },
  };
}
