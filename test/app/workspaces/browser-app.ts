import { once } from 'node:events';
import { createServer } from 'node:http';
import { beforeEach } from '@jest/globals';
import express, { type ErrorRequestHandler } from 'express';
import request from 'supertest';
import { redirectEndedSession } from '../../../src/oauth/require-session.ts';
import type { TokenProvider } from '../../../src/oauth/refresh/token-provider.ts';
import { createErrorPages } from '../../../src/http/error-pages.ts';
import { createLog, type Logger } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { createRedis, type RedisClient } from '../../../src/redis/client.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createAccessLog } from '../../../src/http/access-log.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import type { Session } from '../../../src/session/record.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createWorkspacesRouter } from '../../../src/workspaces/routes.ts';
import { createWorkspaces } from '../../../src/workspaces/workspaces-services.ts';
import { render } from '../../support/render.ts';
import { startSmallService, type Interception } from './small-service.ts';
import { useFixture } from '../../support/fixtures.ts';

export const IDLE_SECONDS = 600;

export interface BrowserAppOptions {
  /** The origin of a service to use instead of the small service. */
  readonly serviceOrigin?: string;
  readonly tokens?: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'>;
  readonly timeoutSeconds?: number;
  /** The maximum number of connections to the service. The limit on pages in flight depends on this number. */
  readonly connections?: number;
  readonly now?: () => number;
  readonly log?: Logger;
  /** Returns whether the session has ended. */
  readonly hasEnded?: () => boolean;
  /** Receives every error that the workspace browser passes to Express. */
  readonly onFailure?: (error: unknown) => void;
}

const silent = createLog('silent');
const encryption = createEncryption({ current: [Buffer.alloc(32, 7)] });

/** Starts a small service with the workspace browser in front of it. A request names its session in `X-Test-Session`. */
export async function startWithService(
  redis: RedisClient,
  items: readonly unknown[],
  intercept?: Interception,
  options: BrowserAppOptions = {},
) {
  const { now = Date.now, timeoutSeconds = 10 } = options;
  const service = await startSmallService(items, intercept);
  const tokens = options.tokens ?? {
    accessToken: async () => 'access-token',
    tokenAfterUnauthorized: async () => 'access-token',
  };
  const pool = new ConnectionPool({
    origin: options.serviceOrigin ?? service.origin,
    connections: options.connections ?? 8,
    timeoutMs: timeoutSeconds * 1_000,
  });
  const lists = createWorkspaces({
    service: pool,
    tokens,
    sessions: { read: (id) => Promise.resolve(options.hasEnded?.() === true ? null : toSession(id)) },
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
      sessionEnd: () => '2026-01-01T00:00:00.000Z',
      signedIn: [(_req, _res, next) => next()],
      render,
      kinds: ['rooms', 'murals'],
      currentSession: (req) => toSession(req.get('x-test-session') ?? 'session-a'),
      pageSize: 25,
    }),
  );
  app.use(((error: unknown, _req, _res, next) => {
    options.onFailure?.(error);
    next(error);
  }) satisfies ErrorRequestHandler);
  app.use(redirectEndedSession);
  app.use(createErrorPages({ render, log: silent, isSignedIn: () => true }));

  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    redis,
    service,
    /** Requests a page and expects a status. */
    async get(path: string, status: number, session = 'session-a') {
      return request(server).get(path).set('x-test-session', session).expect(status);
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await pool.destroy();
      await service[Symbol.asyncDispose]();
    },
  };
}

function toSession(id: string): Session {
  const grant = { accessToken: 'unused', expiresAt: 0, lifetimeMs: 0, scopes: [] };
  return { id, encrypted: '', record: { grant, createdAt: 0 } };
}

/** Starts a private Redis and connects to it. */
export async function startOwnRedis() {
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

/**
 * Starts a Redis for the tests in a file and empties it before each test. The returned function starts a small service with the
 * workspace browser in front of it.
 */
export function useEmptyRedis() {
  const own = useFixture(async () => startOwnRedis());
  beforeEach(async () => {
    await own.redis.flushall();
  });
  return async (items: readonly unknown[], intercept?: Interception, options?: BrowserAppOptions) =>
    startWithService(own.redis, items, intercept, options);
}

/** Returns the names of the workspaces on a page, in order. */
export function namesIn(html: string): string[] {
  return [...html.matchAll(/data-find>(Workspace \d+)</g)].map(([, name = '']) => name);
}
