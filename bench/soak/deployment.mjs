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

/** Lifetime of access tokens, so short that every session in use is refreshed every few seconds. */
const TOKEN_SECONDS = 6;
const PROCESSES = 3;
/** Time allowed after the last action for the final requests with idle sessions. */
const FINAL_REQUESTS_SECONDS = 1_800;
const PROBE = new URL('process-health-probe.mjs', import.meta.url).href;

/** @typedef {ReturnType<typeof toAppProcess>} AppProcess */
/** @typedef {Awaited<ReturnType<typeof startTestApp>>} TestApp */

/**
 * Starts three Cloakroom processes behind HAProxy with `deploy/haproxy.cfg`, a durable Redis, and the local service with its own Redis. The
 * returned methods stop, kill and replace these processes.
 * @param {string} log the log file of the Cloakroom processes
 * @param {number} ms the minimum lifetime of an idle session
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
  /** @type {AppProcess[]} */
  const allProcesses = [];
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
        // All sign-ins come from one address, so set a limit that is never reached.
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
    const appProcess = toAppProcess(started, slot, allProcesses.length + 1);
    allProcesses.push(appProcess);
    return appProcess;
  };
  const running = await Promise.all(ports.map(async (_port, slot) => start(slot)));
  const loadBalancer = await startHaproxy(
    port,
    ports.map((each) => `127.0.0.1:${each}`),
  );

  return {
    url,
    serviceUrl,
    redis,
    /** All Cloakroom processes started so far. */
    allProcesses,
    /** The current Cloakroom processes by slot. A slot keeps its old process until the new one is ready. */
    running,
    loadBalancer,
    /**
     * Ends a process with a signal and starts another in its slot. Resolves to the exit code.
     * @param {number} slot
     * @param {'SIGTERM' | 'SIGKILL'} signal
     */
    async replace(slot, signal) {
      const old = /** @type {AppProcess} */ (running[slot]);
      old.isEndedByTest = true;
      process.kill(old.pid, signal);
      const [code] = await old.exited;
      running[slot] = await start(slot);
      return code;
    },
    rotateSessionKeys: async () => sessionKeys.rotate(running.map(({ pid }) => pid)),
    pauseStore: () => process.kill(store.pid, 'SIGSTOP'),
    resumeStore: () => process.kill(store.pid, 'SIGCONT'),
    async killStore() {
      process.kill(store.pid, 'SIGKILL');
      await store[Symbol.asyncDispose]();
    },
    /** Restarts Redis. No data is lost, because Redis wrote to disk before each reply. */
    async restartStore() {
      store = await startPrivateRedis(settings);
    },
    async killService() {
      process.kill(service.pid, 'SIGKILL');
      await service.exited;
    },
    /** @param {boolean} rotates whether the service rotates refresh tokens from now on */
    async restartService(rotates) {
      service = await startService(rotates);
    },
    async stop() {
      await loadBalancer[Symbol.asyncDispose]();
      await Promise.all(running.map(async (appProcess) => appProcess.stop()));
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
 * Returns session lifetimes that outlast the run and its final requests.
 * @param {number} ms
 */
function toLifetimes(ms) {
  const seconds = Math.max(3_600, Math.ceil(ms / 1_000) + FINAL_REQUESTS_SECONDS);
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
 * Describes a Cloakroom process.
 * @param {Awaited<ReturnType<ReturnType<typeof createCloakroom>['start']>>} started
 * @param {number} slot the position of the process behind the load balancer
 * @param {number} number the number of the process among all processes so far
 */
function toAppProcess(started, slot, number) {
  let hasExited = false;
  void started.exited.then(() => (hasExited = true));
  return {
    ...started,
    slot,
    number,
    startedAt: performance.now(),
    /** Whether the soak test sent the process a termination signal. */
    isEndedByTest: false,
    hasExited: () => hasExited,
  };
}
