import { Agent, request } from 'undici';
import { createCloakroom } from './cloakroom.mjs';
import { processorMs } from './processor-time.mjs';
import { startService } from './service.mjs';
import { startStore } from './store.mjs';

/**
 * Cloakroom as it is shipped, in processes of its own, beside a private Redis and before a service that costs nothing.
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
      return { ...started, cpuMs: () => processorMs([started.pid]) };
    }),
  );
  const agent = new Agent({ connections: 256 });

  return {
    store,
    service,
    processes: running,
    /**
     * A session as sign-in would write it, and its `Cookie` header.
     * @param {number} [leftSeconds] that its access token still lives
     */
    async createSession(leftSeconds) {
      return cloakroom.createSession(service.issue(leftSeconds));
    },
    /**
     * Requests one process. Rejects where the response is no 200: then nothing that is measured means anything.
     * @param {number} at
     * @param {string} cookie
     */
    async send(at, cookie) {
      const url = `http://127.0.0.1:${running[at]?.port}/api/public/v1/workspaces`;
      const { statusCode, headers, body } = await request(url, { dispatcher: agent, headers: { cookie } });
      const text = await body.text();
      if (statusCode !== 200) throw new Error(`Cloakroom answered ${statusCode}: ${text}`);
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
