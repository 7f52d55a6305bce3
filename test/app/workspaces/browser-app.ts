import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import express from 'express';
import type { ErrorRequestHandler } from 'express';
import { signInAgain } from '../../../src/oauth/require-session.ts';
import type { TokenProvider } from '../../../src/oauth/refresh/token-provider.ts';
import { createErrorPages } from '../../../src/http/error-pages.ts';
import { createLog, type Logger } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { createRedis } from '../../../src/redis/client.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createAccessLog } from '../../../src/http/access-log.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import type { Session } from '../../../src/session/record.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createWorkspacesRouter } from '../../../src/workspaces/routes.ts';
import { createWorkspaces } from '../../../src/workspaces/workspaces.ts';
import { render } from '../../support/render.ts';

export const IDLE_SECONDS = 600;

export interface BrowserAppOptions {
  readonly serviceOrigin: string;
  readonly redis: RedisClient;
  readonly tokens?: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'>;
  readonly timeoutSeconds?: number;
  /** Most connections to the service: says how many pages a session may have under way. */
  readonly connections?: number;
  readonly now?: () => number;
  readonly log?: Logger;
  /** Whether the session has ended meanwhile. */
  readonly hasEnded?: () => boolean;
  /** Hears of every failure that the workspace browser passes on. */
  readonly onFailure?: (error: unknown) => void;
}

/** The workspace browser alone, over the parts it has in the whole app. Whoever asks says which session they have. */
export interface BrowserApp extends AsyncDisposable {
  readonly server: Server;
  readonly redis: RedisClient;
}

const silent = createLog('silent');
const encryption = createEncryption({ current: [Buffer.alloc(32, 7)] });

export async function startBrowserApp(options: BrowserAppOptions): Promise<BrowserApp> {
  const { redis, now = Date.now, timeoutSeconds = 10 } = options;
  const tokens = options.tokens ?? {
    accessToken: async () => 'access-token',
    tokenAfterUnauthorized: async () => 'access-token',
  };
  const service = new ConnectionPool({
    origin: options.serviceOrigin,
    connections: options.connections ?? 8,
    timeoutMs: timeoutSeconds * 1_000,
  });
  const lists = createWorkspaces({
    service,
    tokens,
    sessions: { read: (id) => Promise.resolve(options.hasEnded?.() === true ? null : toTicket(id)) },
    redis,
    encryption,
    prefix: 'test:',
    idleSeconds: IDLE_SECONDS,
    log: options.log ?? silent,
    timeoutSeconds,
    connections: options.connections ?? 128,
    now,
  });

  const accessLog = createAccessLog({ log: silent });
  const app = express();
  app.use((req, res, next) => {
    accessLog.track(req, res, req.originalUrl);
    next();
  });
  app.use(
    createWorkspacesRouter({
      ...lists,
      sessionOf: () => 'a session',
      signedIn: [(_req, _res, next) => next()],
      render,
      kinds: ['rooms', 'murals'],
      currentSession: (req) => toTicket(req.get('x-test-session') ?? 'session-a'),
      pageSize: 25,
    }),
  );
  app.use(((error: unknown, _req, _res, next) => {
    options.onFailure?.(error);
    next(error);
  }) satisfies ErrorRequestHandler);
  app.use(signInAgain);
  app.use(createErrorPages({ render, log: silent, isSignedIn: () => true }));

  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    redis,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await service.destroy();
    },
  };
}

function toTicket(id: string): Session {
  const grant = { accessToken: 'unused', expiresAt: 0, lifetimeMs: 0, scopes: [] };
  return { id, encrypted: '', record: { grant, createdAt: 0 } };
}

/** A Redis of one's own, and a connection to it. */
export interface OwnRedis extends AsyncDisposable {
  readonly redis: RedisClient;
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const server = await startPrivateRedis();
  const redis = createRedis(parseRedisUrl(server.url), createLog('silent'));
  await once(redis, 'ready');
  return {
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

type StartApp = (
  service: { readonly origin: string },
  options?: Partial<BrowserAppOptions>,
) => Promise<BrowserApp>;

/** For all tests of a file: starts the browser before a service, over a Redis that is empty before each test. */
export function withEmptyRedis(): StartApp {
  let own: OwnRedis;
  beforeAll(async () => {
    own = await startOwnRedis();
  });
  beforeEach(async () => {
    await own.redis.flushall();
  });
  afterAll(async () => own[Symbol.asyncDispose]());
  return async (service, options = {}) =>
    startBrowserApp({ serviceOrigin: service.origin, redis: own.redis, ...options });
}

/** The names of the workspaces on a page, in order. */
export function namesIn(html: string): string[] {
  return [...html.matchAll(/data-find>(Workspace \d+)</g)].map(([, name = '']) => name);
}
