import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadLocalServiceConfig } from '../../../src/local-service/config.ts';
import { createLocalService } from '../../../src/local-service/local-service.ts';
import { createOAuthStore } from '../../../src/local-service/oauth-store.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import type { Grant } from '../../../src/session/record.ts';
import { TOKEN_PATH } from '../constants.ts';
import { recordServiceSecrets } from '../log-audit.ts';
import { openRedis } from '../redis/clients.ts';
import { createBarrier, type Barrier } from './barrier.ts';
import { freePort } from './free-port.ts';

/** The path of an endpoint added to those of the local service. The response names the user of the access token: `{"user":"…"}`. */
export const ME_PATH = '/api/public/v1/me';

/** A refresh that reached the token endpoint. */
interface Refresh {
  readonly refreshToken: string;
  /** The time of arrival in ms, measured with performance.now(). */
  readonly at: number;
}

/** A function that returns true if it has responded in place of the service. */
type Intercept = (
  req: IncomingMessage,
  res: ServerResponse,
  refreshToken: string | null,
) => boolean | Promise<boolean>;

/**
 * Starts the local service behind a server that counts requests and may respond itself. The service has its own Redis,
 * so faults in Cloakroom's Redis don't affect it. `env` holds `LOCAL_SERVICE_*` variables.
 */
export async function startService(env: Readonly<Record<string, string>> = {}) {
  const privateRedis = await startPrivateRedis();
  const redis = await openRedis(privateRedis.url);
  const config = loadLocalServiceConfig(env);
  let local: RequestListener = createLocalService(config, redis, createLog('silent'));
  const { grants, accessTokens, refreshTokens } = createOAuthStore(redis, config, Date.now);

  const respondWithUser = async (req: IncomingMessage, res: ServerResponse) => {
    const check = await accessTokens.check((req.headers.authorization ?? '').replace(/^Bearer /, ''));
    if (check.state === 'valid') res.setHeader('content-type', 'application/json');
    else res.statusCode = 401;
    res.end(
      JSON.stringify(check.state === 'valid' ? { user: check.grant.userId } : { code: 'UNAUTHORIZED' }),
    );
  };

  const service = {
    /** Every refresh so far, whether it succeeded or not. */
    refreshes: [] as Refresh[],
    /** The number of requests so far to endpoints other than the token endpoint. */
    apiRequests: 0,
    intercept: (() => false) as Intercept,
  };
  const listener = async (req: IncomingMessage, res: ServerResponse) => {
    recordServiceSecrets(req, res);
    const refreshToken = req.url === TOKEN_PATH ? await record(req, service.refreshes) : null;
    if (req.url !== TOKEN_PATH) service.apiRequests += 1;
    if (await service.intercept(req, res, refreshToken)) return;
    if (req.url?.startsWith(ME_PATH) === true) await respondWithUser(req, res);
    else local(req, res);
  };

  const failures: unknown[] = [];
  let server: Server;
  const listen = async (port: number) => {
    server = createServer((req, res) => {
      listener(req, res).catch((error: unknown) => {
        if (!req.destroyed) failures.push(error); // the process that sent the request may have been killed
        res.destroy();
      });
    });
    server.keepAliveTimeout = 0; // closing an idle connection just as it is reused would be another fault
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const stopListening = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const port = await listen(await freePort()); // no other test uses this port while the service is down

  return Object.assign(service, {
    origin: `http://127.0.0.1:${port}`,
    /** Clears the recorded refreshes and removes the interceptor. */
    reset() {
      service.refreshes.length = 0;
      service.intercept = () => false;
    },
    /** Holds token requests at a barrier, before the service handles them. */
    holdTokenRequests(): Barrier {
      const barrier = createBarrier();
      barrier.hold();
      service.intercept = async ({ url }) => {
        if (url === TOKEN_PATH) await barrier.pass();
        return false;
      };
      return barrier;
    },
    /** Issues tokens as if this user had signed in. */
    async issue(user: string): Promise<Grant> {
      const id = await grants.create({ clientId: config.clientId, userId: user, scopes: config.scopes });
      await grants.keep(id);
      const lifetimeMs = config.accessTokenSeconds * 1_000;
      return {
        accessToken: await accessTokens.issue(id),
        refreshToken: await refreshTokens.issue(id),
        lifetimeMs,
        expiresAt: Date.now() + lifetimeMs,
        scopes: [...config.scopes],
      };
    },
    /** Makes the service refuse this access token and all others from the same grant. */
    revokeAccess: async (token: string) => accessTokens.revoke(token),
    /** Makes the service respond to this grant's refresh token with `invalid_grant`. */
    async revokeGrant(accessToken: string) {
      const id = await accessTokens.grantOf(accessToken);
      if (id !== undefined) await grants.revoke(id);
    },
    /** Makes the service accept only this client secret. */
    changeClientSecret(clientSecret: string) {
      local = createLocalService({ ...config, clientSecret }, redis, createLog('silent'));
    },
    /** Closes all connections and refuses new ones. */
    stopListening,
    /** Accepts connections on the same port again. */
    listenAgain: async () => void (await listen(port)),
    async [Symbol.asyncDispose]() {
      if (server.listening) await stopListening();
      await redis[Symbol.asyncDispose]();
      await privateRedis[Symbol.asyncDispose]();
      if (failures.length > 0) throw new AggregateError(failures, 'an interceptor failed');
    },
  });
}

/** Records the refresh token from a form body and puts the body back into the stream. The body of a refresh fits into one chunk. */
async function record(req: IncomingMessage, refreshes: Refresh[]): Promise<string | null> {
  await once(req, 'readable');
  const form = req.read() as Buffer | null;
  if (form === null) return null;
  const refreshToken = new URLSearchParams(form.toString()).get('refresh_token');
  if (refreshToken !== null) refreshes.push({ refreshToken, at: performance.now() });
  req.unshift(form);
  return refreshToken;
}
