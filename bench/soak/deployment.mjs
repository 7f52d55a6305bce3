import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createCloakroom } from '../support/cloakroom.mjs';
import { freePort } from '../support/free-port.mjs';
import { nodeCommand, startProcess } from '../support/start-process.mjs';
import {
  closeRedis,
  createRedis,
  parseRedisUrl,
  redisReady,
  silentLog,
  startPrivateRedis,
} from '../support/store.mjs';
import { startHaproxy } from '../../test/support/haproxy.mjs';
import { createSessionKeys } from './session-keys.mjs';
import { temporaryFolder } from './temporary-folder.mjs';

/** So short that every session is refreshed all the time. */
const TOKEN_SECONDS = 6;
const PROCESSES = 3;
/** Time after the last action in which idle sessions are used again, outages included. */
const WOKEN_WITHIN_SECONDS = 1_800;
const PROBE = new URL('vitals-probe.mjs', import.meta.url).href;

/** @typedef {ReturnType<typeof toLife>} Life */
/** @typedef {Awaited<ReturnType<typeof startTestApp>>} TestApp */

/**
 * Starts three processes of Cloakroom behind HAProxy with `deploy/haproxy.cfg`, a durable Redis, and the local service with its own
 * Redis. Methods stop, kill and replace each of them.
 * @param {string} log the file that the processes of Cloakroom write their logs to
 * @param {number} ms how long an idle session must last
 */
export async function startTestApp(log, ms) {
  const folder = temporaryFolder('cloakroom-soak-');
  const [port, redisPort, servicePort, ...ports] = await freePorts(3 + PROCESSES);
  const url = `http://127.0.0.1:${port}`;
  const serviceUrl = `http://127.0.0.1:${servicePort}`;
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  const logFile = openSync(log, 'a');

  const settings = [
    'bind 127.0.0.1',
    `port ${redisPort}`,
    `dir ${folder}`,
    'appendonly yes',
    'appendfsync always',
    'maxmemory-policy noeviction',
  ];
  let store = await startPrivateRedis(settings);
  const redis = createRedis(parseRedisUrl(redisUrl), silentLog);
  await redisReady(redis);

  const serviceStore = await startPrivateRedis();
  const startService = async (rotates = false) => {
    const started = startProcess(nodeCommand('bench/soak/service-process.mjs'), {
      REDIS_URL: serviceStore.url,
      LOCAL_SERVICE_PORT: String(servicePort),
      LOCAL_SERVICE_REDIRECT_URIS: `${url}/auth/callback`,
      LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: String(TOKEN_SECONDS),
      LOCAL_SERVICE_ROTATE_REFRESH: String(rotates),
      LOCAL_SERVICE_FAULTS: 'true',
    });
    await started.nextMessage();
    return started;
  };
  let service = await startService();

  const cloakroom = createCloakroom({ upstream: serviceUrl, redisUrl, redis });
  const keysFile = join(folder, 'session-keys');
  const sessionKeys = createSessionKeys(keysFile, cloakroom.env.SESSION_KEYS, log);
  /** @type {Life[]} */
  const lives = [];
  /** @param {number} slot */
  const start = async (slot) => {
    const started = await cloakroom.start({
      port: ports[slot] ?? 0,
      stdout: logFile,
      nodeOptions: ['--expose-gc', '--import', PROBE],
      env: {
        PUBLIC_URL: url,
        SESSION_KEYS: '',
        SESSION_KEYS_FILE: keysFile,
        ...toLifetimes(ms),
        // All sign-ins come from one address. This limit is never reached.
        SIGN_INS_PER_ADDRESS: '1000000',
        TRUST_PROXY: '1',
        CLIENT_ID: 'demo-app',
        CLIENT_SECRET: 'demo-secret',
        SCOPES: 'room:read room:write workspace:read',
        SERVICE_TIMEOUT_SECONDS: '10',
        TOKEN_TIMEOUT_SECONDS: '5',
        SHUTDOWN_SECONDS: '20',
      },
    });
    const life = toLife(started, slot, lives.length + 1);
    lives.push(life);
    return life;
  };
  const running = await Promise.all(ports.map(async (_port, slot) => start(slot)));
  const balancer = await startHaproxy(
    port,
    ports.map((each) => `127.0.0.1:${each}`),
  );

  return {
    url,
    serviceUrl,
    redis,
    /** All processes of Cloakroom so far. */
    lives,
    /** The current processes, or those that are starting. */
    running,
    balancer,
    /**
     * Ends a process with a signal and starts another in its place. Resolves with the exit code.
     * @param {number} slot
     * @param {'SIGTERM' | 'SIGKILL'} signal
     */
    async replace(slot, signal) {
      const old = /** @type {Life} */ (running[slot]);
      old.isEnded = true;
      process.kill(old.pid, signal);
      const [code] = await old.exited;
      running[slot] = await start(slot);
      return code;
    },
    replaceSessionKeys: async () => sessionKeys.replace(running.map(({ pid }) => pid)),
    pauseStore: () => process.kill(store.pid, 'SIGSTOP'),
    resumeStore: () => process.kill(store.pid, 'SIGCONT'),
    async killStore() {
      process.kill(store.pid, 'SIGKILL');
      await store[Symbol.asyncDispose]();
    },
    /** Starts Redis again with all its data: every write was on disk before its response. */
    async reviveStore() {
      store = await startPrivateRedis(settings);
    },
    async killService() {
      process.kill(service.pid, 'SIGKILL');
      await service.exited;
    },
    /** @param {boolean} rotates whether refresh tokens rotate from now on */
    async reviveService(rotates) {
      service = await startService(rotates);
    },
    async stop() {
      await balancer[Symbol.asyncDispose]();
      await Promise.all(running.map(async (life) => life.stop()));
      await service.stop();
      await closeRedis(redis);
      await store[Symbol.asyncDispose]();
      await serviceStore[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
      closeSync(logFile);
    },
  };
}

/**
 * Returns lifetimes with which no session expires during the run. Idle sessions are used again at its end.
 * @param {number} ms
 */
function toLifetimes(ms) {
  const seconds = Math.max(3_600, Math.ceil(ms / 1_000) + WOKEN_WITHIN_SECONDS);
  return { SESSION_IDLE_SECONDS: String(seconds), SESSION_MAX_SECONDS: String(Math.max(43_200, seconds)) };
}

/**
 * @param {number} count
 * @returns {Promise<[number, number, number, ...number[]]>}
 */
async function freePorts(count) {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  return /** @type {[number, number, number, ...number[]]} */ (ports);
}

/**
 * Describes a process of Cloakroom.
 * @param {Awaited<ReturnType<ReturnType<typeof createCloakroom>['start']>>} started
 * @param {number} slot
 * @param {number} number
 */
function toLife(started, slot, number) {
  let isGone = false;
  void started.exited.then(() => (isGone = true));
  return {
    ...started,
    slot,
    number,
    bornAt: performance.now(),
    /** Whether the soak test has ended it. */
    isEnded: false,
    wasGone: () => isGone,
  };
}
