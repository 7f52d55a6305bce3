import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import request from 'supertest';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { loadLocalServiceConfig, type LocalServiceConfig } from '../../../src/local-service/config.ts';
import { createLocalService } from '../../../src/local-service/local-service.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createRedis } from '../../../src/redis/client.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { TOKEN_PATH } from '../constants.ts';
import { useFixture } from '../fixtures.ts';
import { authorizationUrl, openBrowser, signInAndAllow } from './cookie-browser.ts';
import {
  codeFields,
  refreshFields,
  tokensOf,
  type Fields,
  type ListPage,
  type TokenResponse,
} from './requests.ts';

const MAX_PAGES = 500;

export type ServiceFixture = Awaited<ReturnType<typeof startServiceFixture>>;

/** A server with helpers that send requests to the server. */
export type LocalService = Awaited<ReturnType<ServiceFixture['start']>>;

/** Starts Redis and a local service for the tests in a file. `fixture.start` starts more services with the same Redis. */
export function useLocalService(overrides: Partial<LocalServiceConfig> = {}) {
  const fixture = useFixture(startServiceFixture);
  return { fixture, service: useFixture(async () => fixture.start(overrides)) };
}

/** Starts Redis, and local services on demand. Disposal stops Redis and all services. */
export async function startServiceFixture() {
  const privateRedis = await startPrivateRedis();
  const redis = createRedis(parseRedisUrl(privateRedis.url), createLog('silent'));
  await once(redis, 'ready');
  const clock = { time: Date.now() };
  const logged: string[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(line) });
  const servers: Server[] = [];

  return {
    redis,
    /** The services' time in ms, which tests move forward. */
    clock,
    logged,
    /** Starts a service on its own port, to simulate another process. */
    async start(overrides: Partial<LocalServiceConfig> = {}) {
      const config = { ...loadLocalServiceConfig({}), ...overrides };
      const app = createLocalService(config, redis, log, () => clock.time);
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.push(server);
      // The fixture closes the server on disposal. A second close would reject.
      return Object.assign(server, requestsTo(server), { [Symbol.asyncDispose]: async () => {} });
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      // A second disconnect would leave an ioredis timer behind.
      if (redis.status !== 'end') redis.disconnect();
      await privateRedis[Symbol.asyncDispose]();
    },
  };
}

function requestsTo(server: Server) {
  /** Posts a form to the token endpoint. */
  const postToken = (fields: Fields) => request(server).post(TOKEN_PATH).type('form').send(fields);
  const exchange = (code: string, more: Fields = {}) => postToken(codeFields(code, more));

  /** Resolves with a new authorization code for this user. */
  async function newCode(
    overrides: Readonly<Record<string, string | undefined>> = {},
    user = 'demo',
  ): Promise<string> {
    const parameters = await signInAndAllow(openBrowser(server), authorizationUrl(overrides), user);
    const code = parameters.get('code');
    if (code === null) throw new Error(`No code: ${parameters.toString()}`);
    return code;
  }

  /** Requests an API path with an access token. */
  function getApi(path: string, accessToken?: string): request.Test {
    const test = request(server).get(`/api/public/v1${path}`);
    return accessToken === undefined ? test : test.set('authorization', `Bearer ${accessToken}`);
  }

  return {
    postToken,
    exchange,
    refresh: (token: string, more: Fields = {}) => postToken(refreshFields(token, more)),
    newCode,
    /** Resolves with the tokens from a new sign-in. */
    newTokens: async (scope?: string, user?: string): Promise<TokenResponse> =>
      tokensOf(await exchange(await newCode(scope === undefined ? {} : { scope }, user))),
    getApi,
    /** Reads all pages of a list, each requested as the interface specifies. */
    async readPages(path: string, accessToken: string, limit?: number): Promise<ListPage[]> {
      const pages: ListPage[] = [];
      const query = new URLSearchParams(limit === undefined ? {} : { limit: String(limit) });
      while (pages.length < MAX_PAGES) {
        const res = await getApi(`${path}?${query.toString()}`, accessToken);
        if (res.status !== 200) throw new Error(`Page ${pages.length + 1}: ${res.status} ${res.text}`);
        const page = res.body as ListPage;
        pages.push(page);
        if (page.next === undefined) return pages;
        query.set('next', page.next);
      }
      throw new Error('The list has no end.');
    },
  };
}
