import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadLocalServiceConfig } from '../../../src/local-service/config.ts';
import { createLocalService } from '../../../src/local-service/local-service.ts';
import { createOAuthStore } from '../../../src/local-service/oauth-store.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import type { Grant } from '../../../src/session/record.ts';
import { TOKEN_PATH } from '../constants.ts';
import { watchService } from '../log-audit.ts';
import { freePort } from './free-port.ts';

/** Answers `{"user":"…"}`, the one whose token came with the call; the local service knows no such thing. */
export const ME_PATH = '/api/public/v1/me';

/** One refresh that came to the token endpoint. */
interface Refresh {
  readonly refreshToken: string;
  /** By performance.now(). */
  readonly at: number;
}

/** Answers in the service's place where it returns true; a refresh comes with its refresh token. */
type Intercept = (
  req: IncomingMessage,
  res: ServerResponse,
  refreshToken: string | null,
) => boolean | Promise<boolean>;

/**
 * The local service, with a Redis of its own so that what happens to Cloakroom's leaves it alone, and in front of it
 * somebody who counts, and who may response in its place.
 *
 * It does not build on raw-service.ts: it passes requests on to the local service, which takes them from `node:http`.
 */
export interface TestService extends AsyncDisposable {
  readonly origin: string;
  /** Every refresh so far, in the order in which they came: whatever became of them. */
  readonly refreshes: Refresh[];
  /** Calls so far that were none of the token endpoint. */
  apiCalls: number;
  intercept: Intercept;
  /** What signing in as this user would bring: real tokens, which the service takes, renews and rotates. */
  issue(user: string): Promise<Grant>;
  /** Ends every access token of which this is one at once, as far as the service is concerned. */
  revokeAccess(accessToken: string): Promise<void>;
  /** Ends the grant: its refresh token is `invalid_grant` from now on. */
  revokeGrant(accessToken: string): Promise<void>;
  /** Gives the app another secret: the one before is refused from now on. */
  changeClientSecret(clientSecret: string): void;
  /** Stops listening and cuts every connection off: the next one is refused. */
  goAway(): Promise<void>;
  /** Listens again, on the same port. */
  comeBack(): Promise<void>;
}

/** Starts it; `env` holds `LOCAL_SERVICE_*` variables. */
export async function startService(env: Readonly<Record<string, string>> = {}): Promise<TestService> {
  const privateRedis = await startPrivateRedis();
  const redis = createRedis(parseRedisUrl(privateRedis.url), createLog('silent'));
  await redisReady(redis);
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

  const service: Pick<TestService, 'refreshes' | 'apiCalls' | 'intercept'> = {
    refreshes: [],
    apiCalls: 0,
    intercept: () => false,
  };
  const listener = async (req: IncomingMessage, res: ServerResponse) => {
    watchService(req, res);
    const refreshToken = req.url === TOKEN_PATH ? await record(req, service.refreshes) : null;
    if (req.url !== TOKEN_PATH) service.apiCalls += 1;
    if (await service.intercept(req, res, refreshToken)) return;
    if (req.url?.startsWith(ME_PATH) === true) await respondWithUser(req, res);
    else local(req, res);
  };

  const failures: unknown[] = [];
  let server: Server;
  const listen = async (port: number) => {
    server = createServer((req, res) => {
      listener(req, res).catch((error: unknown) => {
        if (!req.destroyed) failures.push(error); // whoever asked may have been killed meanwhile
        res.destroy();
      });
    });
    server.keepAliveTimeout = 0; // a connection that ends just as it is used again would be a fault of its own
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const goAway = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  const port = await listen(await freePort()); // nobody else takes it while the service is away

  return Object.assign(service, {
    origin: `http://127.0.0.1:${port}`,
    async issue(user: string) {
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
    revokeAccess: async (token: string) => accessTokens.revoke(token),
    async revokeGrant(accessToken: string) {
      const id = await accessTokens.grantOf(accessToken);
      if (id !== undefined) await grants.revoke(id);
    },
    changeClientSecret(clientSecret: string) {
      local = createLocalService({ ...config, clientSecret }, redis, createLog('silent'));
    },
    goAway,
    comeBack: async () => void (await listen(port)),
    async [Symbol.asyncDispose]() {
      if (server.listening) await goAway();
      await closeRedis(redis);
      await privateRedis[Symbol.asyncDispose]();
      if (failures.length > 0) throw new AggregateError(failures, 'an intercept failed');
    },
  });
}

/** Looks at the form without taking it away: a refresh is so small that it comes in one piece. */
async function record(req: IncomingMessage, refreshes: Refresh[]): Promise<string | null> {
  await once(req, 'readable');
  const form = req.read() as Buffer | null;
  if (form === null) return null;
  const refreshToken = new URLSearchParams(form.toString()).get('refresh_token');
  if (refreshToken !== null) refreshes.push({ refreshToken, at: performance.now() });
  req.unshift(form);
  return refreshToken;
}
