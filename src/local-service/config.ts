import * as z from 'zod';
import { ConfigError, readVariables, type Env } from '../config/env.ts';
import type { RedisTarget } from '../config/redis-url.ts';
import { DEMO_CLIENT, boolean, host, integer, list, variables } from '../config/schema.ts';

const MONTH_SECONDS = 30 * 86_400;

/** The variables of the local service, with their valid values and defaults. */
export const localServiceVariables = {
  LOCAL_SERVICE_HOST: host().default('127.0.0.1'),
  /** 0 picks a free port. */
  LOCAL_SERVICE_PORT: integer(0, 65_535).default(4000),
  LOCAL_SERVICE_CLIENT_ID: printable().default(DEMO_CLIENT.id),
  LOCAL_SERVICE_CLIENT_SECRET: printable().default(DEMO_CLIENT.secret),
  /** The service compares redirect URIs character by character. */
  LOCAL_SERVICE_REDIRECT_URIS: redirectUris().default(['http://localhost:3000/auth/callback']),
  /** The scopes that the app may request; case-sensitive. */
  LOCAL_SERVICE_SCOPES: scopes().default(['room:read', 'room:write', 'workspace:read']),
  LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: integer(1, MONTH_SECONDS).default(900),
  LOCAL_SERVICE_CODE_SECONDS: integer(1, 600).default(60),
  /** Number of workspaces in the `demo` account. */
  LOCAL_SERVICE_WORKSPACES: integer(0, 100_000).default(137),
  /** If true, a refresh also returns a new refresh token and revokes the old one. */
  LOCAL_SERVICE_ROTATE_REFRESH: boolean().default(false),
  /** If true, the service also accepts common client requests that deviate from the interface. */
  LOCAL_SERVICE_COMPAT: boolean().default(false),
  /** If true, clients on the same machine can set faults at `/_faults`. */
  LOCAL_SERVICE_FAULTS: boolean().default(false),
} as const;

const PROCESS_VARIABLES = {
  ...localServiceVariables,
  REDIS_URL: variables.REDIS_URL.optional(),
  LOG_LEVEL: variables.LOG_LEVEL,
} as const;

type Values = {
  readonly [Name in keyof typeof localServiceVariables]: z.output<(typeof localServiceVariables)[Name]>;
};

/** The validated configuration of the local service. */
export type LocalServiceConfig = Readonly<ReturnType<typeof toConfig>>;

/**
 * Reads the `LOCAL_SERVICE_*` variables. An empty variable is treated as unset. Throws a ConfigError that lists every problem
 * and names the variable, but never contains a value.
 */
export function loadLocalServiceConfig(env: Env): LocalServiceConfig {
  const { values, problems } = readVariables(localServiceVariables, env, ['LOCAL_SERVICE_CLIENT_SECRET']);
  if (problems.length > 0) throw new ConfigError(problems);
  return toConfig(values as Values); // complete, because there are no problems
}

/**
 * Reads the settings for running the local service as a process: its configuration, `REDIS_URL` (or `REDIS_URL_FILE`) and
 * `LOG_LEVEL`. If `redis` is absent, the caller starts a private Redis. Throws a ConfigError that lists every problem.
 */
export function loadProcessSettings(env: Env): {
  readonly config: LocalServiceConfig;
  readonly redis?: RedisTarget;
  readonly logLevel: string;
} {
  const files = ['REDIS_URL', 'LOCAL_SERVICE_CLIENT_SECRET'] as const;
  const { values, problems } = readVariables(PROCESS_VARIABLES, env, files);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    config: toConfig(values as Values),
    logLevel: values.LOG_LEVEL ?? 'info',
    ...(values.REDIS_URL !== undefined && { redis: values.REDIS_URL }),
  };
}

function toConfig(values: Values) {
  return {
    host: values.LOCAL_SERVICE_HOST,
    port: values.LOCAL_SERVICE_PORT,
    clientId: values.LOCAL_SERVICE_CLIENT_ID,
    clientSecret: values.LOCAL_SERVICE_CLIENT_SECRET,
    redirectUris: values.LOCAL_SERVICE_REDIRECT_URIS,
    scopes: values.LOCAL_SERVICE_SCOPES as readonly string[],
    accessTokenSeconds: values.LOCAL_SERVICE_ACCESS_TOKEN_SECONDS,
    codeSeconds: values.LOCAL_SERVICE_CODE_SECONDS,
    workspaces: values.LOCAL_SERVICE_WORKSPACES,
    rotateRefresh: values.LOCAL_SERVICE_ROTATE_REFRESH,
    compat: values.LOCAL_SERVICE_COMPAT,
    faults: values.LOCAL_SERVICE_FAULTS,
  };
}

/** A client id or secret: VSCHAR (RFC 6749 appendix A.1, A.2). */
function printable() {
  return z.string().regex(/^[\x20-\x7e]+$/, 'must be printable ASCII');
}

function redirectUris() {
  return list().refine(
    (uris) => uris.every((uri) => /^https?:\/\/[^\s#]+$/.test(uri) && URL.canParse(uri)),
    'must be absolute http or https URLs without a fragment, with commas between them',
  );
}

function scopes() {
  return z
    .string()
    .transform((text) => text.split(' ').filter((scope) => scope !== ''))
    .refine(
      (names) => names.length > 0 && names.every((name) => /^[A-Za-z][\w.-]*:(?:read|write)$/.test(name)),
      'must be scopes of the form resource:read or resource:write, with spaces between them',
    );
}
