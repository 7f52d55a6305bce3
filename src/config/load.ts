import { fileVariables, variables } from './schema.ts';
import { readBuild } from './build-info.ts';
import type { Build } from './build-info.ts';
import { DOT_ENV_IGNORED } from './dot-env.ts';
import { ConfigError, isMissing, readVariables } from './env-variables.ts';
import type { Env, EnvReading } from './env-variables.ts';
import type { RedisTarget } from './redis-url.ts';
import { isLoopback } from './loopback.ts';

/** The whole configuration, checked and frozen. See `.env.example` for each variable. */
export interface Config {
  /** Nothing that anybody sets but who makes an image. */
  readonly build: Build;
  /** Origin a browser sees, e.g. `https://app.example.com`; no trailing slash. */
  readonly publicOrigin: string;
  /** Whether `PUBLIC_URL` was not given: then `publicOrigin` follows the port. */
  readonly publicUrlIsDefault: boolean;
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
  /** 32 bytes each; the first encrypts and signs, all open and verify. */
  readonly sessionKeys: readonly Buffer[];
  readonly sessionIdleSeconds: number;
  readonly sessionMaxSeconds: number;
  readonly cookieSameSite: 'lax' | 'strict';
  readonly refreshAheadSeconds: number;
  readonly serviceTimeoutSeconds: number;
  readonly tokenTimeoutSeconds: number;
  readonly serviceConnections: number;
  readonly clientHeadSeconds: number;
  readonly clientRequestSeconds: number;
  readonly clientIdleSeconds: number;
  readonly clientLingerSeconds: number;
  /** Path prefixes, each with a trailing slash. */
  readonly apiPaths: readonly string[];
  /** Calls in flight in this process. */
  readonly maxCalls: number;
  readonly maxCallsPerSession: number;
  readonly maxBodyBytes: number;
  readonly workspaceItems: readonly string[];
  readonly pageSize: number;
  readonly trustProxy: number;
  /** Of one client address in ten minutes; 0 is no limit. */
  readonly signInsPerAddress: number;
  readonly metricsPort: number;
  readonly shutdownSeconds: number;
  readonly logLevel: string;
}

/** What of it can be replaced while the process runs. */
export type Secrets = Pick<Config, 'clientSecret' | 'redis' | 'sessionKeys'>;

/** The names of all variables, `_FILE` variants aside. */
export const variableNames: readonly string[] = Object.keys(variables);

/** Those that may also be given as the path of a file. */
export const fileVariableNames: readonly string[] = fileVariables;

/**
 * Reads the configuration from `env` and, for `_FILE` variables, from disk. Throws a ConfigError with every problem
 * at once; none repeats a value. The result is frozen throughout, but for the bytes of the keys. `ignoresDotEnv`: a `.env`
 * stands here that is not read, which is said where a variable is missing.
 */
export function loadConfig(env: Env, ignoresDotEnv = false): Config {
  const { values, problems } = readConfig(env);
  if (problems.length > 0) {
    const hint = ignoresDotEnv && problems.some(isMissing) ? DOT_ENV_IGNORED : undefined;
    throw new ConfigError(problems, hint);
  }
  // Without a problem none is missing.
  return toConfig(values as Required<Values>, readBuild(env));
}

/** What can be read of a configuration, whatever is wrong with the rest of it. Each problem starts with a variable's name. */
export function readConfig(env: Env): EnvReading<typeof variables> {
  const { values, problems } = readVariables(variables, env, fileVariables);
  return { values, problems: [...problems, ...conflicts(values, env)] };
}

/**
 * The same configuration with the port that was found free; a `PUBLIC_URL` that was left to its default follows it.
 */
export function withPort(config: Config, port: number): Config {
  const publicOrigin = config.publicUrlIsDefault ? localOrigin(port) : config.publicOrigin;
  return Object.freeze({ ...config, port, publicOrigin });
}

type Values = EnvReading<typeof variables>['values'];

/** What is wrong between variables, each fine by itself; one with a problem of its own is left alone. */
function conflicts(values: Values, env: Env): string[] {
  const { PUBLIC_URL, SERVICE_URL, ALLOW_INSECURE_SERVICE, PORT, METRICS_PORT } = values;
  const production = isProduction(env);
  const rules: [boolean, string][] = [
    [production && !env['PUBLIC_URL'], 'PUBLIC_URL is required in production'],
    [
      production && isInsecure(PUBLIC_URL),
      'PUBLIC_URL must be https in production (or http on a loopback host such as localhost)',
    ],
    [
      isInsecure(SERVICE_URL) && ALLOW_INSECURE_SERVICE === false,
      'SERVICE_URL must be https (or http on a loopback host), or ALLOW_INSECURE_SERVICE must be true',
    ],
    [
      METRICS_PORT !== 0 && METRICS_PORT !== undefined && METRICS_PORT === PORT,
      'METRICS_PORT must differ from PORT',
    ],
  ];
  return rules.filter(([broken]) => broken).map(([, problem]) => problem);
}

function isProduction(env: Env): boolean {
  return env['NODE_ENV'] === 'production';
}

/** Whether what goes to this origin can be read on the way. */
function isInsecure(origin: string | undefined): boolean {
  return origin !== undefined && origin.startsWith('http:') && !isLoopback(origin);
}

function localOrigin(port: number): string {
  return new URL(`http://localhost:${port}`).origin;
}

function toConfig(values: Required<Values>, build: Build): Config {
  return deepFreeze({
    build,
    publicOrigin: values.PUBLIC_URL ?? localOrigin(values.PORT),
    publicUrlIsDefault: values.PUBLIC_URL === undefined,
    host: values.HOST,
    port: values.PORT,
    serviceOrigin: values.SERVICE_URL,
    clientId: values.CLIENT_ID,
    clientSecret: values.CLIENT_SECRET,
    scopes: values.SCOPES,
    redis: values.REDIS_URL,
    redisPrefix: values.REDIS_PREFIX,
    sessionKeys: values.SESSION_KEYS,
    sessionIdleSeconds: values.SESSION_IDLE_SECONDS,
    sessionMaxSeconds: values.SESSION_MAX_SECONDS,
    cookieSameSite: values.COOKIE_SAMESITE,
    refreshAheadSeconds: values.REFRESH_AHEAD_SECONDS,
    serviceTimeoutSeconds: values.SERVICE_TIMEOUT_SECONDS,
    tokenTimeoutSeconds: values.TOKEN_TIMEOUT_SECONDS,
    serviceConnections: values.SERVICE_CONNECTIONS,
    clientHeadSeconds: values.CLIENT_HEAD_SECONDS,
    clientRequestSeconds: values.CLIENT_REQUEST_SECONDS,
    clientIdleSeconds: values.CLIENT_IDLE_SECONDS,
    clientLingerSeconds: values.CLIENT_LINGER_SECONDS,
    apiPaths: values.API_PATHS,
    maxCalls: values.MAX_CALLS,
    maxCallsPerSession: values.MAX_CALLS_PER_SESSION,
    maxBodyBytes: values.MAX_BODY_BYTES,
    workspaceItems: values.WORKSPACE_ITEMS,
    pageSize: values.PAGE_SIZE,
    trustProxy: values.TRUST_PROXY,
    signInsPerAddress: values.SIGN_INS_PER_ADDRESS,
    metricsPort: values.METRICS_PORT,
    shutdownSeconds: values.SHUTDOWN_SECONDS,
    logLevel: values.LOG_LEVEL,
  });
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    // Bytes can't be frozen.
    if (typeof member === 'object' && member !== null && !ArrayBuffer.isView(member)) deepFreeze(member);
  }
  return Object.freeze(value);
}
