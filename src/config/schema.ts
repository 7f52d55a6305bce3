import { z } from 'zod';
import { parseRedisUrl } from './redis-url.ts';
import { boolean, host, integer, list, oneLine, oneOf, origin } from './variable-schemas.ts';

const YEAR_SECONDS = 31_536_000;
const TIB = 1_099_511_627_776;
const MOST_SESSION_KEYS = 8;

/** What each variable may hold, in the order of the contract; the rules between them are in config.ts. */
export const variables = {
  PUBLIC_URL: origin().optional(),
  HOST: host().default('127.0.0.1'),
  PORT: integer(0, 65_535).default(3000),
  SERVICE_URL: origin(),
  ALLOW_INSECURE_SERVICE: boolean().default(false),
  CLIENT_ID: oneLine(),
  CLIENT_SECRET: oneLine(),
  SCOPES: scopes(),
  REDIS_URL: redisUrl(),
  REDIS_PREFIX: redisPrefix().default('cloakroom:'),
  SESSION_KEYS: sessionKeys(),
  SESSION_IDLE_SECONDS: integer(1, YEAR_SECONDS).default(3600),
  SESSION_MAX_SECONDS: integer(1, YEAR_SECONDS).default(43_200),
  COOKIE_SAMESITE: oneOf(['lax', 'strict']).default('lax'),
  REFRESH_AHEAD_SECONDS: integer(0, 86_400).default(60),
  SERVICE_TIMEOUT_SECONDS: integer(1, 3600).default(30),
  TOKEN_TIMEOUT_SECONDS: integer(1, 3600).default(10),
  SERVICE_CONNECTIONS: integer(1, 65_535).default(128),
  CLIENT_HEAD_SECONDS: integer(1, 3600).default(20),
  CLIENT_REQUEST_SECONDS: integer(1, 86_400).default(3600),
  CLIENT_IDLE_SECONDS: integer(1, 3600).default(75),
  CLIENT_LINGER_SECONDS: integer(1, 3600).default(30),
  API_PATHS: apiPaths().default(['/api/public/v1/']),
  MAX_CALLS: integer(1, 65_535).default(2048),
  MAX_CALLS_PER_SESSION: integer(1, 65_535).default(512),
  MAX_BODY_BYTES: integer(0, TIB).default(104_857_600),
  WORKSPACE_ITEMS: workspaceItems().default(['rooms', 'murals']),
  PAGE_SIZE: integer(1, 100).default(25),
  TRUST_PROXY: integer(0, 16).default(0),
  SIGN_INS_PER_ADDRESS: integer(0, 1_000_000).default(1000),
  METRICS_PORT: integer(0, 65_535).default(0),
  SHUTDOWN_SECONDS: integer(1, 3600).default(25),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
} as const;

/** Those that may be given as the path of a file, in a variable with `_FILE` at its end. */
export const fileVariables = ['CLIENT_SECRET', 'REDIS_URL', 'SESSION_KEYS'] as const;

/** Scope tokens of RFC 6749 §3.3, one blank between them. */
function scopes() {
  return z
    .string()
    .transform((value) => value.split(' ').filter((token) => token !== ''))
    .refine(
      (tokens) => tokens.length > 0 && tokens.every((token) => /^[!#-[\]-~]+$/.test(token)),
      'must be scopes of RFC 6749 (printable ASCII without " and \\) with spaces between them',
    )
    .transform((tokens) => tokens.join(' '));
}

function redisUrl() {
  return z.string().transform((value, context) => {
    try {
      return parseRedisUrl(value);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : 'is malformed');
      return z.NEVER;
    }
  });
}

/** No braces: in a cluster they decide where a key lives (hash tags), and would put every session on one node. */
function redisPrefix() {
  return z.string().regex(/^[!-z|~]+$/, 'must be printable ASCII without blanks, { and }');
}

function sessionKeys() {
  return list().transform((parts, context) => {
    const keys = parts.map((part) => Buffer.from(part, 'base64url'));
    for (const [index, key] of keys.entries()) {
      if (key.length !== 32 || key.toString('base64url') !== parts[index]) {
        context.addIssue(
          `has a key (number ${index + 1}) that is not 32 bytes in base64url: run npm run -s keygen`,
        );
      } else if (parts.indexOf(parts[index]) < index) {
        context.addIssue(`has the same key twice (number ${index + 1})`);
      }
    }
    if (keys.length > MOST_SESSION_KEYS) context.addIssue(`must be at most ${MOST_SESSION_KEYS} keys`);
    return keys;
  });
}

/** A segment of letters, digits and marks that no server reads in two ways. */
const API_PATH = /^\/api\/(?:(?!\.{1,2}\/)[\w.~!$&'()*+=:@-]+\/)*$/;

function apiPaths() {
  return list()
    .transform((parts) => parts.map((part) => (part.endsWith('/') ? part : `${part}/`)))
    .refine(
      (paths) => paths.every((path) => API_PATH.test(path) && !path.includes('..')),
      'must be paths that start with /api/, without "..", "//", "%", "?", "#", ";", "\\" and blanks',
    );
}

function workspaceItems() {
  return list()
    .refine(
      (kinds) => kinds.every((kind) => /^[a-z][a-z0-9-]*$/.test(kind)),
      'must be kinds of a-z, 0-9 and "-" that begin with a letter, with commas between them',
    )
    .refine((kinds) => new Set(kinds).size === kinds.length, 'has a kind twice');
}
