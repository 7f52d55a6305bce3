import { Agent, request } from 'undici';
import { createCloakroom } from './cloakroom.mjs';
import { cpuMsOf } from './cpu-time.mjs';
import { startService } from './service.mjs';
import { startStore } from './store.mjs';

/**
 * Starts Cloakroom processes with the options of `npm start`, a private Redis, and a service that uses little CPU time.
 * @param {{ processes: number, tokenSeconds?: number, tokenLatencyMs?: number }} options
 */
export async function startTestApp({ processes, ...serviceOptions }) {
  const store = await startStore();
  const service = await startService(serviceOptions);
  const cloakroom = createCloakroom({
    upstream: service.origin,
    redisUrl: store.url,
    redis: store.redis,
  });
  const running = await Promise.all(
    Array.from({ length: processes }, async () => {
      const started = await cloakroom.start();
      return { ...started, cpuMs: () => cpuMsOf([started.pid]) };
    }),
  );
  const agent = new Agent({ connections: 256 });

  return {
    store,
    service,
    processes: running,
    /**
     * Creates a session. Resolves to the session's `Cookie` header.
     * @param {number} [leftSeconds] until its access token expires
     */
    async createSession(leftSeconds) {
      return cloakroom.createSession(service.issue(leftSeconds));
    },
    /**
     * Sends a request to one process. Rejects if the status is not 200, because the measurement would then be invalid.
     * @param {number} at
     * @param {string} cookie
     */
    async send(at, cookie) {
      const url = `http://127.0.0.1:${running[at]?.port}/api/public/v1/workspaces`;
      const { statusCode, headers, body } = await request(url, { dispatcher: agent, headers: { cookie } });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`Cloakroom responded ${statusCode}: ${text}`);
      return { expiresAt: Number(headers['x-expires-at']) };
    },
    async stop() {
      await agent.destroy();
      await Promise.all(running.map(async (started) => started.stop()));
      service.stop();
      await store.stop();
    },
  };
}
