import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { fromDist } from './compiled.mjs';
import { startService } from './service.mjs';
import { silentLog, startStore } from './store.mjs';

const { createSealer } = /** @type {typeof import('../../src/session/sealing.ts')} */ (
  await fromDist('session/sealing.js')
);
const { createSessionRecords } = /** @type {typeof import('../../src/session/session-records.ts')} */ (
  await fromDist('session/session-records.js')
);
const { createTicketCookie } = /** @type {typeof import('../../src/session/ticket-cookie.ts')} */ (
  await fromDist('session/ticket-cookie.js')
);

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const END_WITH_PARENT = fileURLToPath(new URL('end-with-parent.mjs', import.meta.url));

/**
 * Cloakroom as it is shipped, in processes of its own, beside a private Redis and before a service that costs nothing.
 * @param {{ processes: number, tokenSeconds?: number, tokenLatencyMs?: number }} options
 */
export async function startHouse({ processes, ...serviceOptions }) {
  const store = await startStore();
  const service = await startService(serviceOptions);
  const sessionKey = randomBytes(32);
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'production',
    PORT: '0',
    PUBLIC_URL: 'http://localhost:3000',
    SERVICE_URL: service.origin,
    CLIENT_ID: 'bench',
    CLIENT_SECRET: 'bench',
    SCOPES: 'room:read',
    REDIS_URL: store.url,
    SESSION_KEYS: sessionKey.toString('base64url'),
  };
  const running = await Promise.all(Array.from({ length: processes }, async () => startCloakroom(env)));

  const cookies = createTicketCookie({ https: false, sameSite: 'lax', sessionKeys: [sessionKey] });
  const records = createSessionRecords({
    redis: store.redis,
    log: silentLog,
    prefix: 'cloakroom:',
    sealer: createSealer([sessionKey]),
    idleSeconds: 3_600,
    maxSeconds: 43_200,
    now: Date.now,
  });
  const agent = new Agent({ connections: 256 });

  return {
    store,
    service,
    processes: running,
    /**
     * A session as sign-in would write it, and its `Cookie` header.
     * @param {number} [leftSeconds] that its access token still lives
     */
    async enter(leftSeconds) {
      const id = randomBytes(32).toString('base64url');
      await records.create(id, { grant: service.issue(leftSeconds), createdAt: Date.now() });
      return cookies.write(id).split(';', 1)[0] ?? '';
    },
    /**
     * Calls one process. Rejects where the answer is no 200: then nothing that is measured means anything.
     * @param {number} at
     * @param {string} cookie
     */
    async call(at, cookie) {
      const url = `${running[at]?.url}/api/public/v1/workspaces`;
      const { statusCode, headers, body } = await request(url, { dispatcher: agent, headers: { cookie } });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`Cloakroom answered ${statusCode}: ${text}`);
      return { spentAt: Number(headers['x-spent-at']) };
    },
    async stop() {
      await agent.destroy();
      for (const { child } of running) child.kill('SIGKILL');
      service.stop();
      await store.stop();
    },
  };
}

/** @param {NodeJS.ProcessEnv} env */
async function startCloakroom(env) {
  const child = spawn(process.execPath, ['--import', END_WITH_PARENT, 'dist/main.js'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  if (child.stdout === null) throw new Error('Cloakroom has no output to read.');
  const lines = createInterface(child.stdout);
  for await (const line of lines) {
    const port = /"url":"http:\/\/[^"]*:(\d+)".*"msg":"listening"/.exec(line)?.[1];
    if (port === undefined) continue;
    child.stdout.resume();
    return { child, url: `http://127.0.0.1:${port}`, cpuMs: () => cpuMs(child.pid ?? 0) };
  }
  throw new Error('Cloakroom ended before it was listening.');
}

const MS_PER_TICK = 10;

/**
 * CPU time of a process so far, in ms, to the nearest ten; where there is no /proc, NaN.
 * @param {number} pid
 */
function cpuMs(pid) {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return ((user ?? NaN) + (system ?? NaN)) * MS_PER_TICK;
  } catch {
    return NaN;
  }
}
