import { randomBytes } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { Writable } from 'node:stream';
import { loadConfig, withPort, type Config } from '../../src/config/load.ts';
import { loadLocalServiceConfig } from '../../src/local-service/config.ts';
import { createLocalService } from '../../src/local-service/local-service.ts';
import { bindPort } from '../../src/http/listening.ts';
import { createLog } from '../../src/observability/logger.ts';
import { startPrivateRedis } from '../../src/redis/private-redis.ts';
import { redisReady } from '../../src/redis/client.ts';
import { startServer } from '../../src/server.ts';
import type { Grant } from '../../src/session/record.ts';
import { createServices } from '../../src/services.ts';
import type { Wait } from '../../src/workspaces/export/all-items.ts';
import { Browser, type Page } from './browser.ts';
import { CLIENT_ID, CLIENT_SECRET, SESSION_KEY, TOKEN_AGE_MS, TOKEN_PATH } from './constants.ts';
import { startHttpServer } from './http-server.ts';
import {
  recordLogLines,
  recordSecret,
  recordSecretVariables,
  recordBrowserSecrets,
  recordServiceSecrets,
} from './log-audit.ts';
import { openRedis } from './redis/clients.ts';

type Env = Readonly<Record<string, string | undefined>>;

const DAY_MS = 86_400_000;

/** A request that reached the service. */
interface ServiceRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
}

/** Called with each request before the local service handles it. Returns true after responding in place of the service. */
export type Interceptor = (req: IncomingMessage, res: ServerResponse) => boolean;

/** Cloakroom and the local service running in this process, with a Redis server of their own. */
export type TestApp = Awaited<ReturnType<typeof startTestApp>>;

/** Responds with JSON from an interceptor. */
export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

/** Returns the requests to the token endpoint. */
export function tokenRequests(testApp: TestApp): ServiceRequest[] {
  return testApp.serviceRequests.filter(({ url }) => url === TOKEN_PATH);
}

/** Timeouts that variables can set only in whole seconds, and the interval at which client timeouts are checked. */
type ShortLimits = Partial<
  Pick<
    Config,
    'serviceTimeoutSeconds' | 'clientHeadSeconds' | 'clientRequestSeconds' | 'clientIdleSeconds'
  > & { readonly checkTimeoutsMs: number }
>;

/**
 * Starts a test app. `env` sets environment variables for both Cloakroom and the local service. `wait` replaces the pauses in an export.
 * `limits` may contain shorter times than the variables allow.
 */
export async function startTestApp(
  env: Env = {},
  wait?: Wait,
  { checkTimeoutsMs, ...limits }: ShortLimits = {},
) {
  const privateRedis = await startPrivateRedis();
  const redis = await openRedis(privateRedis.url);
  let skew = 0;
  const now = () => Date.now() + skew;
  const logged: string[] = [];
  const serviceRequests: ServiceRequest[] = [];
  const log = createLog('trace', collect(logged));

  const testApp = {
    /** Tests replace this function to respond in place of the service. */
    intercept: (() => false) as Interceptor,
  };
  let local: RequestListener = () => {};
  const service = await startHttpServer((req, res) => {
    serviceRequests.push({ method: req.method ?? '', url: req.url ?? '', headers: req.headers });
    recordServiceSecrets(req, res);
    if (!testApp.intercept(req, res)) local(req, res);
  });
  const serviceOrigin = `http://127.0.0.1:${service.port}`;

  const variables = {
    PORT: '0',
    SERVICE_URL: serviceOrigin,
    CLIENT_ID,
    CLIENT_SECRET,
    SCOPES: 'room:read room:write workspace:read',
    REDIS_URL: privateRedis.url,
    SESSION_KEYS: SESSION_KEY,
    ...env,
  };
  recordSecretVariables(variables);
  const loaded = loadConfig(variables);
  const bound = await bindPort(loaded.host, loaded.port);
  const config = { ...withPort(loaded, bound.port), ...limits };
  local = createLocalService(
    loadLocalServiceConfig({ LOCAL_SERVICE_REDIRECT_URIS: `${config.publicOrigin}/auth/callback`, ...env }),
    redis,
    createLog('silent'),
    now,
  );
  const services = createServices(config, log, now, wait);
  await redisReady(services.redis);
  const running = await startServer(services, bound, checkTimeoutsMs);
  running.server.prependListener('request', recordBrowserSecrets);

  return Object.assign(testApp, {
    origin: config.publicOrigin,
    serviceOrigin,
    config,
    services,
    running,
    privateRedis,
    /** The test's own connection to Redis. */
    redis,
    /** All requests that have reached the service, in order. */
    serviceRequests,
    /** All lines that Cloakroom has logged. */
    logged,
    /** Moves the clocks of Cloakroom and the local service forward by this many ms. */
    advanceClock: (ms: number) => {
      skew += ms;
    },
    /** Moves the clock to noon (UTC) today, so that the date can't change during a test. */
    advanceClockToNoon: () => {
      skew += DAY_MS / 2 - (now() % DAY_MS);
    },
    /** Creates a session without a sign-in. Resolves with the session id and the `Cookie` header. */
    async createSession(grant: Partial<Grant> = {}) {
      const id = randomBytes(32).toString('base64url');
      const lifetimeMs = 900_000;
      const fresh = { accessToken: 'a-valid-token', refreshToken: 'a-refresh-token', scopes: ['room:read'] };
      const timed = { lifetimeMs, expiresAt: now() + lifetimeMs };
      recordSecret('session id', id);
      const createdAt = now() - 2 * TOKEN_AGE_MS;
      await services.store.create(id, { grant: { ...fresh, ...timed, ...grant }, createdAt });
      return { id, cookie: services.cookie.write(id).split(';', 1)[0] ?? '' };
    },
    /** Signs in as `demo`. Resolves with the browser and the page after sign-in. */
    async signIn(returnTo = '/workspaces') {
      const { browser, address } = await startSignIn({ origin: config.publicOrigin }, { returnTo });
      const consentPage = await submitSignIn(browser, await browser.open(address));
      return { browser, page: await browser.follow(await browser.press(consentPage, 'Allow')) };
    },
    async [Symbol.asyncDispose]() {
      running.server.closeAllConnections();
      await running.drain(5_000); // a test may leave requests open
      await services[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
      await privateRedis[Symbol.asyncDispose]();
    },
  });
}

/** Starts a sign-in. Resolves with the browser, the service URL to open next, and the `state`. */
export async function startSignIn(
  { origin }: Pick<TestApp, 'origin'>,
  { browser = new Browser(), returnTo = '/workspaces' } = {},
) {
  const page = await browser.fetch(`${origin}/auth/login?return_to=${encodeURIComponent(returnTo)}`);
  const address = new URL(page.headers.get('location') ?? '');
  return { browser, address, state: address.searchParams.get('state') ?? '' };
}

/** Signs in as `demo` on the service's sign-in page. Resolves with the consent page. */
export async function submitSignIn(browser: Browser, page: Page): Promise<Page> {
  return browser.follow(await browser.press(page, 'Sign in', { username: 'demo', password: 'demo' }));
}

function collect(lines: string[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      recordLogLines(chunk.toString());
      done();
    },
  });
}
