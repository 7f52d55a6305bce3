import { randomBytes } from 'node:crypto';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import type { Grant } from '../../../src/session/record.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createSessionStore, type SessionStore } from '../../../src/session/store.ts';
import { createSessionCookie } from '../../../src/session/cookie.ts';
import { CLIENT_ID, CLIENT_SECRET, SESSION_KEY, TOKEN_AGE_MS } from '../constants.ts';
import { useFixture } from '../fixtures.ts';
import { noteSecret } from '../log-audit.ts';
import { startCloakroom, untilReady, type Cloakroom } from './cloakroom.ts';
import { startRedisServer, type RedisServer } from './redis-server.ts';
import { closeConnections } from './requests.ts';
import { startService, type Refresh, type TestService } from './service.ts';

type Env = Readonly<Record<string, string>>;

/** A session that was put into Redis as sign-in would have. */
export interface TestSession {
  /** The id in the cookie. */
  readonly id: string;
  /** The `Cookie` header. */
  readonly cookie: string;
  readonly grant: Grant;
}

/** Several processes of Cloakroom beside one Redis, before one service. */
export interface Fleet extends AsyncDisposable {
  readonly service: TestService;
  /** Those that run; a test may end some and add others. */
  readonly processes: Cloakroom[];
  /** The process with this number, modulo their count. */
  at(count: number): Cloakroom;
  /** For `REDIS_URL`. */
  readonly redisUrl: string;
  /** A connection of the test's own to Cloakroom's Redis. */
  readonly redis: RedisClient;
  /** Cloakroom's sessions, as the test sees them through that connection. */
  readonly store: SessionStore;
  /** Process id of the Redis; 0 where the test brought its own. */
  readonly redisPid: number;
  /** One more process, with the same variables unless told otherwise. */
  add(env?: Env): Promise<Cloakroom>;
  /** One more process in the place of one that has ended. */
  replace(old: Cloakroom, env?: Env): Promise<Cloakroom>;
  /** Stores a session of this user, with fresh tokens but for what is given. */
  createSession(user?: string, grant?: Partial<Grant>): Promise<TestSession>;
  /** The grant that Redis now holds for a session; null where that has ended. */
  storedGrant(session: TestSession): Promise<Grant | null>;
  /** Counts the sessions that Redis no longer holds. */
  countLost(sessions: readonly TestSession[]): Promise<number>;
  /** Token requests with the refresh token that a session began with. */
  refreshesOf(session: TestSession): Refresh[];
}

export interface FleetOptions {
  /** 1 unless told otherwise. */
  readonly processes?: number;
  /** Cloakroom's own variables. */
  readonly env?: Env;
  /** `LOCAL_SERVICE_*` */
  readonly service?: Env;
  /** An address of a Redis that the test has started; else the fleet starts one. */
  readonly redisUrl?: string;
}

/** Starts a fleet before the tests of a file, or of a `describe`, and ends it after them. */
export function useFleet(options: FleetOptions | (() => FleetOptions) = {}): Fleet {
  return useFixture(async () => startFleet(typeof options === 'function' ? options() : options));
}

/** Starts a fleet beside a Redis that a test may break. */
export function useFleetAndRedis(options: FleetOptions): {
  readonly fleet: Fleet;
  readonly redis: RedisServer;
} {
  const redis = useFixture(startRedisServer);
  return { redis, fleet: useFleet(() => ({ ...options, redisUrl: redis.url })) };
}

/** Starts Redis, service and processes, each on ports of their own. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const privateRedis = options.redisUrl === undefined ? await startPrivateRedis() : null;
  const redisUrl = options.redisUrl ?? privateRedis?.url ?? '';
  const log = createLog('silent');
  const redis = createRedis(parseRedisUrl(redisUrl), log);
  await redisReady(redis);
  const service = await startService(options.service);

  const sessionKeys = { current: [Buffer.from(SESSION_KEY, 'base64url')] };
  const cookies = createSessionCookie({ https: false, sameSite: 'lax', sessionKeys });
  const store = createSessionStore({
    redis,
    readSession: createSessionReads(redis, 3_600),
    log,
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
      SIGN_INS_PER_ADDRESS: '100000', // all come from one address
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
    processes,
    storedGrant,
    async countLost(sessions) {
      await redisReady(redis); // the processes may be connected again before the test
      const grants = await Promise.all(sessions.map(storedGrant));
      return grants.filter((grant) => grant === null).length;
    },
    refreshesOf: ({ grant }) =>
      service.refreshes.filter(({ refreshToken }) => refreshToken === grant.refreshToken),
    at(count) {
      const cloakroom = processes[count % processes.length];
      if (cloakroom === undefined) throw new Error('no process is running');
      return cloakroom;
    },
    redisUrl,
    redis,
    store,
    redisPid: privateRedis?.pid ?? 0,
    add,
    async replace(old, env) {
      const fresh = await add(env);
      processes.splice(processes.indexOf(old), 1, ...processes.splice(processes.indexOf(fresh), 1));
      return fresh;
    },
    async createSession(user = 'demo', changed = {}) {
      const id = randomBytes(32).toString('base64url');
      const grant = { ...(await service.issue(user)), ...changed };
      noteSecret('session id', id);
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
