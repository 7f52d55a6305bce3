import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { fromDist } from './compiled.mjs';
import { freePort } from './free-port.mjs';
import { nodeCommand, startProcess } from './start-process.mjs';
import { silentLog } from './store.mjs';

const { createEncryption } = /** @type {typeof import('../../src/session/encryption.ts')} */ (
  await fromDist('session/encryption.js')
);
const { createSessionStore } = /** @type {typeof import('../../src/session/store.ts')} */ (
  await fromDist('session/store.js')
);
const { createSessionCookie } = /** @type {typeof import('../../src/session/cookie.ts')} */ (
  await fromDist('session/cookie.js')
);

const START_WITHIN_MS = 20_000;

/**
 * Creates the environment for Cloakroom processes, and functions that start processes and create sessions.
 * @param {{ upstream: string, redisUrl: string, redis: import('../../src/redis/client.ts').RedisClient }} settings
 */
export function createCloakroom({ upstream, redisUrl, redis }) {
  const sessionKey = randomBytes(32);
  const cookies = createSessionCookie({
    https: false,
    sameSite: 'lax',
    sessionKeys: { current: [sessionKey] },
  });
  const records = createSessionStore({
    redis,
    log: silentLog,
    prefix: 'cloakroom:',
    encryption: createEncryption({ current: [sessionKey] }),
    idleSeconds: 3_600,
    readSession() {
      throw new Error('This store only creates sessions.');
    },
    maxSeconds: 43_200,
    now: Date.now,
  });
  const env = {
    PUBLIC_URL: 'http://localhost:3000',
    SERVICE_URL: upstream,
    CLIENT_ID: 'bench',
    CLIENT_SECRET: 'bench',
    SCOPES: 'room:read',
    REDIS_URL: redisUrl,
    SESSION_KEYS: sessionKey.toString('base64url'),
  };
  return {
    env,
    /**
     * Creates a session with this grant, as sign-in does. Resolves to the session's `Cookie` header.
     * @param {import('../../src/session/record.ts').Grant} grant
     */
    async createSession(grant) {
      const id = randomBytes(32).toString('base64url');
      await records.create(id, { grant, createdAt: Date.now() });
      return cookies.write(id).split(';', 1)[0] ?? '';
    },
    /**
     * Starts one process with the options of `npm start`. Resolves once the process is ready.
     * @param {{ env?: NodeJS.ProcessEnv, nodeOptions?: readonly string[], wrap?: (command: string[]) => string[], stdout?: 'ignore' | number, port?: number }} [options]
     */
    async start({ env: more = {}, nodeOptions = [], wrap = (command) => command, ...options } = {}) {
      const { stdout = 'ignore', port = await freePort() } = options;
      const command = wrap(nodeCommand('dist/main.js', [...START_OPTIONS, ...nodeOptions]));
      const started = startProcess(command, { ...env, ...more, PORT: String(port) }, { stdout });
      const giveUpAt = performance.now() + START_WITHIN_MS;
      while (!(await isReady(port))) {
        if (performance.now() > giveUpAt)
          throw new Error(`Cloakroom was not ready within ${START_WITHIN_MS / 1_000} s.`);
        await delay(50);
      }
      return { ...started, port };
    },
  };
}

/** The Node options of `npm start`. */
export const START_OPTIONS = readStartOptions();

function readStartOptions() {
  const { scripts } = /** @type {{ scripts: { start: string } }} */ (
    JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  );
  const [, options] = /^exec node ((?:--\S+ )+)\S+$/.exec(scripts.start) ?? [];
  if (options === undefined)
    throw new Error(`The start script in package.json has an unexpected form: ${scripts.start}`);
  return options.trim().split(' ');
}

/** @param {number} port */
async function isReady(port) {
  try {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/readyz`, { reset: true });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}
