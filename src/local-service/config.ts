import { z } from 'zod';
import { DEMO_CLIENT, boolean, host, integer, list } from '../config/schema.ts';
import { ConfigError, readVariables, type Env } from '../config/env.ts';

/** The whole configuration of the local service, checked. */
export interface LocalServiceConfig {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Registered with the app; compared character by character. */
  readonly redirectUris: readonly string[];
  /** What the app may ask for; case-sensitive. */
  readonly scopes: readonly string[];
  readonly accessTokenSeconds: number;
  readonly codeSeconds: number;
  /** How many workspaces the account `demo` has. */
  readonly workspaces: number;
  /** Whether a refresh also returns a new refresh token and ends the old one. */
  readonly rotateRefresh: boolean;
  /** Whether it also takes what clients in the wild send beyond the interface. */
  readonly compat: boolean;
  /** Whether `/_faults` is there, for callers on the same machine. */
  readonly faults: boolean;
}

const MONTH_SECONDS = 30 * 86_400;

/** What each variable may hold. */
export const localServiceVariables = {
  LOCAL_SERVICE_HOST: host().default('127.0.0.1'),
  LOCAL_SERVICE_PORT: integer(0, 65_535).default(4000),
  LOCAL_SERVICE_CLIENT_ID: printable().default(DEMO_CLIENT.id),
  LOCAL_SERVICE_CLIENT_SECRET: printable().default(DEMO_CLIENT.secret),
  LOCAL_SERVICE_REDIRECT_URIS: redirectUris().default(['http://localhost:3000/auth/callback']),
  LOCAL_SERVICE_SCOPES: scopes().default(['room:read', 'room:write', 'workspace:read']),
  LOCAL_SERVICE_ACCESS_TOKEN_SECONDS: integer(1, MONTH_SECONDS).default(900),
  LOCAL_SERVICE_CODE_SECONDS: integer(1, 600).default(60),
  LOCAL_SERVICE_WORKSPACES: integer(0, 100_000).default(137),
  LOCAL_SERVICE_ROTATE_REFRESH: boolean().default(false),
  LOCAL_SERVICE_COMPAT: boolean().default(false),
  LOCAL_SERVICE_FAULTS: boolean().default(false),
} as const;

/** Those that may be given as the path of a file, in a variable with `_FILE` at its end. */
export const localServiceFiles = ['LOCAL_SERVICE_CLIENT_SECRET'] as const;

/**
 * Reads the `LOCAL_SERVICE_*` variables; an empty one counts as unset. Throws a ConfigError that lists
 * every problem at once, by variable name and without a value.
 */
export function loadLocalServiceConfig(env: Env): LocalServiceConfig {
  const reading = readVariables(localServiceVariables, env, localServiceFiles);
  if (reading.problems.length > 0) throw new ConfigError(reading.problems);
  // Without a problem none is missing.
  const values = reading.values as Required<typeof reading.values>;
  return {
    host: values.LOCAL_SERVICE_HOST,
    port: values.LOCAL_SERVICE_PORT,
    clientId: values.LOCAL_SERVICE_CLIENT_ID,
    clientSecret: values.LOCAL_SERVICE_CLIENT_SECRET,
    redirectUris: values.LOCAL_SERVICE_REDIRECT_URIS,
    scopes: values.LOCAL_SERVICE_SCOPES,
    accessTokenSeconds: values.LOCAL_SERVICE_ACCESS_TOKEN_SECONDS,
    codeSeconds: values.LOCAL_SERVICE_CODE_SECONDS,
    workspaces: values.LOCAL_SERVICE_WORKSPACES,
    rotateRefresh: values.LOCAL_SERVICE_ROTATE_REFRESH,
    compat: values.LOCAL_SERVICE_COMPAT,
    faults: values.LOCAL_SERVICE_FAULTS,
  };
}

/** VSCHAR (RFC 6749 appendix A.1, A.2). */
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
