import type { RedisTarget } from './platform/redis-url.ts';

/** The whole configuration, checked and frozen. See `.env.example` for each variable. */
export interface Config {
  readonly production: boolean;
  /** Origin a browser sees, e.g. `https://app.example.com`; no trailing slash. */
  readonly publicOrigin: string;
  readonly host: string;
  /** 0 picks a free port. */
  readonly port: number;
  /** Origin of the service, no trailing slash. */
  readonly serviceOrigin: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Space-separated, as asked for. */
  readonly scopes: string;
  readonly redis: RedisTarget;
  readonly redisPrefix: string;
  /** 32 bytes each; the first seals and signs, all open and verify. */
  readonly sessionKeys: readonly Buffer[];
  readonly sessionIdleSeconds: number;
  readonly sessionMaxSeconds: number;
  readonly cookieSameSite: 'lax' | 'strict';
  readonly refreshAheadSeconds: number;
  readonly serviceTimeoutSeconds: number;
  readonly tokenTimeoutSeconds: number;
  readonly serviceConnections: number;
  /** Path prefixes, each with a trailing slash. */
  readonly apiPaths: readonly string[];
  readonly maxBodyBytes: number;
  readonly workspaceItems: readonly string[];
  readonly pageSize: number;
  readonly trustProxy: number;
  readonly metricsPort: number;
  readonly shutdownSeconds: number;
  readonly logLevel: string;
}
