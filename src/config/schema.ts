import { isIP } from 'node:net';
import * as z from 'zod';
import { parseRedisUrl } from './redis-url.ts';

const YEAR_SECONDS = 31_536_000;
const TIB = 1_099_511_627_776;
const MAX_SESSION_KEYS = 8;

/**
 * All variables with their types and defaults, from which the fields of `Config` (load.ts) are derived. The order is the same as in
 * `.env.example`, which explains each variable.
 */
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
  MAX_REQUESTS: integer(1, 65_535).default(2048),
  MAX_REQUESTS_PER_SESSION: integer(1, 65_535).default(512),
  MAX_BODY_BYTES: integer(0, TIB).default(104_857_600),
  WORKSPACE_ITEMS: workspaceItems().default(['rooms', 'murals']),
  PAGE_SIZE: integer(1, 100).default(25),
  TRUST_PROXY: integer(0, 16).default(0),
  SIGN_INS_PER_ADDRESS: integer(0, 1_000_000).default(1000),
  METRICS_PORT: integer(0, 65_535).default(0),
  SHUTDOWN_SECONDS: integer(1, 3600).default(25),
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
} as const;

/** Variables that may also be given as `NAME_FILE`, the path of a file. SIGHUP rereads these files. */
export const fileVariables = ['CLIENT_SECRET', 'REDIS_URL', 'SESSION_KEYS'] as const;

/** The local service's default client, whose secret is public and therefore protects nothing. */
export const DEMO_CLIENT = { id: 'demo-app', secret: 'demo-secret' } as const;

/** A whole number in plain decimal digits. */
export function integer(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}, in decimal digits`;
  return z
    .string()
    .regex(/^(?:0|[1-9]\d{0,15})$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message);
}

export function boolean() {
  return oneOf(['true', 'false']).transform((text) => text === 'true');
}

export function oneOf<const T extends string>(words: readonly T[]) {
  return z.enum(words, `must be one of: ${words.join(', ')}`);
}

/** A comma-separated list of one or more items. Spaces around items are removed. */
export function list() {
  return z.string().transform((value): readonly string[] => value.split(',').map((part) => part.trim()));
}

const HOST_NAME = /^(?:[a-z\d_](?:[a-z\d_-]*[a-z\d_])?\.)*[a-z\d_](?:[a-z\d_-]*[a-z\d_])?\.?$/i;

/** A host name, or an IP address without brackets. */
export function host() {
  return z
    .string()
    .refine(
      (value) => isIP(value) !== 0 || (value.length <= 253 && HOST_NAME.test(value)),
      'must be a host name or an IP address (IPv6 without brackets)',
    );
}

/** A normalised `http` or `https` origin without a trailing slash. */
function origin() {
  return z.string().transform((value, context) => {
    // The URL parser would repair backslashes, white space and missing slashes, so refuse such values first.
    if (/^https?:\/\/[^\s/?#\\@]+\/?$/i.test(value) && URL.canParse(value)) return new URL(value).origin;
    context.addIssue(
      'must be an origin such as https://app.example.com: http or https, no path, query or user',
    );
    return z.NEVER;
  });
}

/** Returns whether the host of a URL is a loopback host (RFC 6761 §6.3, RFC 1122 §3.2.1.3). */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return /^(?:(?:.+\.)?localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** One line of text. A space at either end is refused as a typing error. */
function oneLine() {
  return z
    .string()
    .regex(/^[^\p{Cc}]*$/u, 'must not contain control characters or line breaks')
    .refine((value) => value === value.trim(), 'must not begin or end with a space');
}

/** Scope tokens (RFC 6749 §3.3), joined by single spaces. */
function scopes() {
  return z
    .string()
    .transform((value) => value.split(' ').filter((token) => token !== ''))
    .refine(
      (tokens) => tokens.length > 0 && tokens.every((token) => /^[!#-[\]-~]+$/.test(token)),
      'must be a space-separated list of scopes (RFC 6749: printable ASCII without " and \\)',
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

/** Refuses braces, which a cluster would treat as a hash tag, putting every session on one node. */
function redisPrefix() {
  return z.string().regex(/^[!-z|~]+$/, 'must be printable ASCII without spaces, { or }');
}

function sessionKeys() {
  return list().transform((parts, context): readonly Buffer[] => {
    const keys = parts.map((part) => Buffer.from(part, 'base64url'));
    for (const [index, key] of keys.entries()) {
      if (key.length !== 32 || key.toString('base64url') !== parts[index]) {
        context.addIssue(
          `has a key (number ${index + 1}) that is not 32 bytes in base64url: create one with npm run -s keygen`,
        );
      } else if (parts.indexOf(parts[index]) < index) {
        context.addIssue(`has the same key twice (number ${index + 1})`);
      }
    }
    if (keys.length > MAX_SESSION_KEYS) context.addIssue(`must contain at most ${MAX_SESSION_KEYS} keys`);
    return keys;
  });
}

/** A path without dot segments, consisting of characters that all servers interpret alike. */
const API_PATH = /^\/api\/(?:(?!\.{1,2}\/)[\w.~!$&'()*+=:@-]+\/)*$/;

/** Path prefixes, each with a trailing slash. */
function apiPaths() {
  return list()
    .transform((parts): readonly string[] => parts.map((part) => (part.endsWith('/') ? part : `${part}/`)))
    .refine(
      (paths) => paths.every((path) => API_PATH.test(path) && !path.includes('..')),
      'must be paths that start with /api/, without "..", "//", "%", "?", "#", ";", "\\" or spaces',
    );
}

function workspaceItems() {
  return list()
    .refine(
      (kinds) => kinds.every((kind) => /^[a-z][a-z0-9-]*$/.test(kind)),
      'must be a comma-separated list of kinds: a-z, 0-9 and "-", beginning with a letter',
    )
    .refine((kinds) => new Set(kinds).size === kinds.length, 'has a kind twice');
}
