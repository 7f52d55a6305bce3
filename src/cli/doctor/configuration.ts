import { statSync } from 'node:fs';
import type { Env } from '../../config/env.ts';
import { localOrigin, readConfig, variableNames } from '../../config/load.ts';
import type { RedisTarget } from '../../config/redis-url.ts';
import { fileVariables, isLoopback } from '../../config/schema.ts';
import {
  INVALID_VARIABLES,
  ok,
  problem,
  runAll,
  toFinding,
  warning,
  type Check,
  type Finding,
  type Result,
} from './finding.ts';
import { checkUnknownVariables } from './unknown-variables.ts';

type Values = ReturnType<typeof readConfig>['values'];

/** The configuration as read from the environment, for further checks. */
export interface Settings {
  readonly env: Env;
  /** Contains only valid values. */
  readonly values: Values;
  /** Descriptions of problems, each beginning with the name of the variable. */
  readonly problems: readonly string[];
  /** The required variables that are not set. */
  readonly missing: ReadonlySet<string>;
  /** The origin that browsers see; undefined if it is invalid or depends on a port that is not known yet. */
  readonly publicOrigin: string | undefined;
}

const configurationChecks: readonly Check<Settings>[] = [
  { id: 'mode', title: 'NODE_ENV', run: checkMode },
  { id: 'unknown-variables', title: 'Unknown variables', run: ({ env }) => checkUnknownVariables(env) },
  { id: 'session-keys', title: 'SESSION_KEYS', run: checkSessionKeys },
  { id: 'secret-files', title: 'Secret files', run: ({ env }) => checkFileModes(env) },
  { id: 'proxies', title: 'TRUST_PROXY', run: checkTrustProxy },
  { id: 'redis-encryption', title: 'Redis encryption', run: checkRedisEncryption },
  { id: 'redis-password', title: 'Redis password', run: checkRedisPassword },
];

/** Reads the configuration like `loadConfig`, but continues if there are problems. */
export function readSettings(env: Env): Settings {
  const { values: all, problems, missing } = readConfig(env);
  const invalid = new Set(problems.map(variableOf));
  const values: Values = Object.fromEntries(Object.entries(all).filter(([name]) => !invalid.has(name)));
  const isDefault = values.PUBLIC_URL === undefined && !invalid.has('PUBLIC_URL');
  const defaultOrigin = values.PORT ? localOrigin(values.PORT) : undefined;
  return { env, values, problems, missing, publicOrigin: isDefault ? defaultOrigin : values.PUBLIC_URL };
}

/** Checks the variables, individually and in combination. */
export function checkConfiguration(settings: Settings, ignoresDotEnv: boolean): Finding[] {
  return [...checkVariables(settings, ignoresDotEnv), ...runAll(configurationChecks, settings)];
}

/** Reports the problems that prevent Cloakroom from starting. */
function checkVariables({ problems, missing }: Settings, ignoresDotEnv: boolean): Finding[] {
  if (problems.length === 0) {
    const detail = `All ${variableNames.length} variables are valid or use their defaults.`;
    return [toFinding('variables', 'Variables', ok(detail))];
  }
  return problems.map((each) => {
    const name = variableOf(each);
    const remedy =
      ignoresDotEnv && missing.has(name)
        ? `Set ${name} in the environment. Production mode does not read the .env in this folder, but development mode (NODE_ENV=development) does.`
        : `Set ${name} as explained in .env.example.`;
    return toFinding(`variable:${name}`, name, problem(`${each}.`, remedy));
  });
}

/** Returns the variable that a problem concerns. For NAME_FILE, returns NAME. */
function variableOf(text: string): string {
  return (/^\w+/.exec(text)?.[0] ?? '').replace(/_FILE$/, '');
}

/** Checks that NODE_ENV is `production` if the origin is public. A typing error such as `prod` would disable the production checks. */
function checkMode({ env, publicOrigin }: Settings): Result {
  const mode = env['NODE_ENV'] ?? '';
  if (mode === 'production') return ok('NODE_ENV is production.');
  const isLocal = publicOrigin === undefined || isLoopback(publicOrigin);
  if (isLocal && ['', 'development', 'test'].includes(mode)) return ok('NODE_ENV suits local development.');
  return warning(
    'NODE_ENV is not production, so Cloakroom reads .env and skips its production checks.',
    'Set NODE_ENV=production, or start Cloakroom with npm start.',
  );
}

/** 32 random bytes have about 30 distinct values and almost never fewer than 20. */
const MIN_DIFFERENT_BYTES = 20;

/** Finds keys that an attacker could guess because their 32 bytes are not random. Identifies keys only by number. */
function checkSessionKeys({ values: { SESSION_KEYS: keys } }: Settings): Result {
  if (keys === undefined) return INVALID_VARIABLES;
  const weak = keys.flatMap((key, at) => (isWeak([...key]) ? [`key ${at + 1}`] : []));
  if (weak.length === 0) return ok('Each key looks random.');
  return problem(
    `At least one key is not random (${weak.join(', ')}). An attacker who guesses a session key can sign cookies.`,
    'Create keys with npm run -s keygen. Remove weak keys immediately, although this ends their sessions.',
  );
}

/** Returns whether a key is printable text, is an arithmetic sequence or has too few distinct bytes. */
function isWeak(key: readonly number[]): boolean {
  const steps = key.slice(1).map((byte, at) => (byte - (key[at] ?? 0) + 256) % 256);
  const isText = key.every((byte) => byte >= 0x20 && byte < 0x7f);
  return isText || new Set(steps).size === 1 || new Set(key).size < MIN_DIFFERENT_BYTES;
}

/** Permission bits that let others access a file or let its group write to it. Platforms often grant the group read access. */
const TOO_OPEN = 0o027;

/** Finds secret files that other users can access. Never prints a path, because the variable may contain a secret instead. */
function checkFileModes(env: Env): Result {
  const names = fileVariables.map((name) => `${name}_FILE`).filter((name) => env[name]);
  if (names.length === 0) return ok('No secret is read from a file.');
  const open = names.filter((name) => {
    const mode = statSync(env[name] ?? '', { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & TOO_OPEN) !== 0;
  });
  if (open.length === 0) return ok(`No file named in ${names.join(', ')} is open to other users.`);
  return warning(
    `Other users on this machine can access files named in ${open.join(', ')}, or a group can write to them.`,
    'Make Cloakroom’s user the owner of the file and run chmod 400. In a container without other users, ignore this warning.',
  );
}

/** Checks that an https origin has a reverse proxy, because Cloakroom doesn't terminate TLS. */
function checkTrustProxy({ publicOrigin, values: { TRUST_PROXY: hops } }: Settings): Result {
  if (publicOrigin === undefined || hops === undefined) return INVALID_VARIABLES;
  if (hops > 0) return ok(`TRUST_PROXY is ${hops}. Make sure that only the proxies can reach HOST and PORT.`);
  if (publicOrigin.startsWith('http:')) return ok('TRUST_PROXY is 0, so Cloakroom ignores X-Forwarded-For.');
  return warning(
    'PUBLIC_URL is https, so a proxy terminates TLS. With TRUST_PROXY=0, logs and limits use the address of the proxy for every client.',
    'Set TRUST_PROXY to the number of proxies, and configure the first proxy to set X-Forwarded-For.',
  );
}

function checkRedisEncryption({ values: { REDIS_URL: target } }: Settings): Result {
  if (target === undefined) return INVALID_VARIABLES;
  if (isOnThisHost(target)) return ok('The connection stays on this machine.');
  if (target.kind === 'single' && target.tls) return ok('The connection uses TLS.');
  return warning(
    'The connection to Redis on another host does not use TLS. Anyone on the network can read the password and the encrypted sessions.',
    'Use rediss:// for a single Redis that supports TLS. Otherwise, keep the connection on a private network.',
  );
}

function checkRedisPassword({ values: { REDIS_URL: target } }: Settings): Result {
  if (target === undefined) return INVALID_VARIABLES;
  if (target.password !== undefined) return ok('REDIS_URL has a password.');
  if (isOnThisHost(target)) return ok('REDIS_URL has no password, but Redis is on this machine.');
  return warning(
    'REDIS_URL has no password for Redis on another host. Without a password, any client that reaches Redis can end all sessions.',
    'Create a user with a password (ACL SETUSER), and add the user name and password to REDIS_URL.',
  );
}

function isOnThisHost(target: RedisTarget): boolean {
  if (target.kind === 'socket') return true;
  const nodes =
    target.kind === 'single' ? [target] : target.kind === 'cluster' ? target.nodes : target.sentinels;
  return nodes.every(({ host }) => isLoopback(`redis://${host.includes(':') ? `[${host}]` : host}`));
}
