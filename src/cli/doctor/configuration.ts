import { statSync } from 'node:fs';
import type { Env } from '../../config/env.ts';
import { readConfig, variableNames } from '../../config/load.ts';
import { fileVariables, isLoopback } from '../../config/schema.ts';
import { WAIT_BEYOND_TOKEN_TIMEOUT_MS } from '../../oauth/refresh/refresh.ts';
import {
  ok,
  problem,
  runAll,
  skipped,
  toFinding,
  warning,
  type Check,
  type Finding,
  type Result,
} from './finding.ts';
import { checkUnknownVariables } from './unknown-variables.ts';

type Values = ReturnType<typeof readConfig>['values'];

/** What of a configuration can be checked further. */
export interface Settings {
  readonly env: Env;
  /** Holds only valid values. */
  readonly values: Values;
  /** Each begins with the name of its variable. */
  readonly problems: readonly string[];
  /** The required variables that are not set. */
  readonly missing: ReadonlySet<string>;
  /** The origin a browser sees; undefined where it is not valid, or depends on a port that is not known yet. */
  readonly publicOrigin: string | undefined;
}

const configurationChecks: readonly Check<Settings>[] = [
  { id: 'mode', title: 'NODE_ENV', run: checkMode },
  { id: 'unknown-variables', title: 'Unknown variables', run: ({ env }) => checkUnknownVariables(env) },
  { id: 'session-keys', title: 'SESSION_KEYS', run: checkSessionKeys },
  { id: 'secret-files', title: 'Files of secrets', run: ({ env }) => checkFileModes(env) },
  { id: 'proxies', title: 'TRUST_PROXY', run: checkTrustProxy },
  { id: 'load-balancer-times', title: 'Timeouts of load balancers', run: checkLoadBalancerTimes },
  { id: 'shutdown-time', title: 'Time to shut down', run: checkShutdownTime },
  { id: 'metrics', title: 'Metrics', run: checkMetrics },
];

/** Reads the configuration as `loadConfig` does, and goes on after a problem. */
export function readSettings(env: Env): Settings {
  const { values: all, problems, missing } = readConfig(env);
  const invalid = new Set(problems.map(variableOf));
  const values: Values = Object.fromEntries(Object.entries(all).filter(([name]) => !invalid.has(name)));
  const isDefault = values.PUBLIC_URL === undefined && !invalid.has('PUBLIC_URL');
  const localOrigin = values.PORT ? new URL(`http://localhost:${values.PORT}`).origin : undefined;
  return { env, values, problems, missing, publicOrigin: isDefault ? localOrigin : values.PUBLIC_URL };
}

/**
 * Checks the variables, by themselves and beside each other. `ignoresDotEnv`: production does not read the `.env` of this
 * folder.
 */
export function checkConfiguration(settings: Settings, ignoresDotEnv: boolean): Finding[] {
  return [...checkVariables(settings, ignoresDotEnv), ...runAll(configurationChecks, settings)];
}

/** What keeps Cloakroom from starting. */
function checkVariables({ problems, missing }: Settings, ignoresDotEnv: boolean): Finding[] {
  if (problems.length === 0) {
    const result = ok(`All ${variableNames.length} are valid, or left to their defaults.`);
    return [toFinding({ id: 'variables', title: 'Variables' }, result)];
  }
  return problems.map((each) => {
    const name = variableOf(each);
    const remedy =
      ignoresDotEnv && missing.has(name)
        ? `Set ${name} in the environment: production does not read the .env in this folder (NODE_ENV=development does).`
        : `Set ${name} as .env.example explains it.`;
    return toFinding({ id: `variable:${name}`, title: name }, problem(`${each}.`, remedy));
  });
}

/** The variable that a problem is about; NAME_FILE is about NAME. */
function variableOf(text: string): string {
  return (/^\w+/.exec(text)?.[0] ?? '').replace(/_FILE$/, '');
}

/** A typing error such as `prod` turns off what production refuses. */
function checkMode({ env, publicOrigin }: Settings): Result {
  const mode = env['NODE_ENV'] ?? '';
  if (mode === 'production') return ok('production');
  const isKnown = ['', 'development', 'test'].includes(mode);
  const isPublic = publicOrigin !== undefined && !isLoopback(publicOrigin);
  if (isKnown && !isPublic) return ok('Not production: .env is read, and http is accepted.');
  return warning(
    isKnown
      ? 'Not production, although PUBLIC_URL is not on this machine: what production refuses is accepted.'
      : 'Neither production nor development: it counts as development.',
    'Set NODE_ENV=production, or start it with npm start.',
  );
}

/** 32 random bytes have about 30 different values; fewer than 20 practically never occur. */
const MIN_DIFFERENT_BYTES = 20;

/** Finds keys that can be guessed: 32 bytes each, but not random. Names a key by its number only. */
function checkSessionKeys({ values }: Settings): Result {
  const keys = values.SESSION_KEYS;
  if (keys === undefined) return skipped('SESSION_KEYS must be valid first.');
  const weak = keys.flatMap((key, at) => {
    const why = weaknessOf([...key]);
    return why === undefined ? [] : [`Key ${at + 1} ${why}.`];
  });
  if (weak.length === 0)
    return ok(keys.length === 1 ? 'One key, random.' : `${keys.length} keys, all random.`);
  return problem(
    `${weak.join(' ')} Anyone who guesses a session key can sign cookies.`,
    'Create keys with npm run -s keygen. Do not keep a weak key for sessions that it encrypted: let them end.',
  );
}

function weaknessOf(bytes: readonly number[]): string | undefined {
  const step = (at: number) => ((bytes[at + 1] ?? 0) - (bytes[at] ?? 0) + 256) % 256;
  if (bytes.slice(1).every((_, at) => step(at) === step(0))) return 'is a sequence, as in examples';
  if (bytes.every((byte) => byte >= 0x20 && byte < 0x7f)) return 'is text, such as a pass phrase';
  return new Set(bytes).size < MIN_DIFFERENT_BYTES ? 'repeats a few bytes' : undefined;
}

/** Others may read or write it, or its group may write it. Platforms hand a file to a user by a group that may read it. */
const TOO_OPEN = 0o027;

/** Never prints a path, because a secret may stand in its place. */
function checkFileModes(env: Env): Result {
  const names = fileVariables.map((name) => `${name}_FILE`).filter((name) => env[name]);
  if (names.length === 0) return ok('No secret comes from a file.');
  const open = names.filter((name) => {
    const mode = statSync(env[name] ?? '', { throwIfNoEntry: false })?.mode ?? 0;
    return (mode & TOO_OPEN) !== 0;
  });
  if (open.length === 0) return ok(`${names.join(', ')}: readable by Cloakroom only.`);
  return warning(
    `${open.join(', ')}: other users of this machine may read or write the file, or its group may write it.`,
    'Give the file to the user Cloakroom runs as, and chmod 400 it. A container without other users may keep it.',
  );
}

/** Cloakroom does not terminate TLS, so that an https origin needs a reverse proxy. */
function checkTrustProxy({ publicOrigin, values }: Settings): Result {
  const hops = values.TRUST_PROXY;
  if (publicOrigin === undefined || hops === undefined)
    return skipped('PUBLIC_URL and TRUST_PROXY must be valid first.');
  if (hops > 0) {
    const proxies = hops === 1 ? 'one proxy' : `${hops} proxies`;
    return ok(
      `X-Forwarded-For is believed of ${proxies}: make sure that HOST and PORT can’t be reached past them.`,
    );
  }
  if (publicOrigin.startsWith('http:'))
    return ok('0: no X-Forwarded-For is believed, and no proxy is needed.');
  return warning(
    'PUBLIC_URL is https, so that a proxy terminates TLS, but TRUST_PROXY is 0: logs and limits take the address of the proxy for that of every client.',
    'Set TRUST_PROXY to the number of proxies, and let the first one set X-Forwarded-For.',
  );
}

/** The timeout for a response in deploy/haproxy.cfg and docs/operations.md, and a usual one for an idle connection. */
export const LOAD_BALANCER_TIMEOUT_SECONDS = 120;
const LOAD_BALANCER_IDLE_SECONDS = 60;

function checkLoadBalancerTimes({ values }: Settings): Result {
  const { SERVICE_TIMEOUT_SECONDS: service, TOKEN_TIMEOUT_SECONDS: token } = values;
  const { CLIENT_IDLE_SECONDS: idle, TRUST_PROXY: hops } = values;
  if (service === undefined || token === undefined || idle === undefined || hops === undefined)
    return INVALID_TIMES;
  const longest = 2 * (token + WAIT_BEYOND_TOKEN_TIMEOUT_MS / 1_000 + service);
  const detail = `A response may take ${longest} s (a token refresh and the service, twice), and an idle connection stays open for ${idle} s.`;
  if (longest > LOAD_BALANCER_TIMEOUT_SECONDS) {
    return warning(
      `${detail} deploy/haproxy.cfg waits ${LOAD_BALANCER_TIMEOUT_SECONDS} s for a response.`,
      `Let load balancers wait at least ${longest} s, or lower SERVICE_TIMEOUT_SECONDS.`,
    );
  }
  if (hops > 0 && idle <= LOAD_BALANCER_IDLE_SECONDS) {
    return warning(
      `${detail} Many load balancers keep one for ${LOAD_BALANCER_IDLE_SECONDS} s, and would send requests over a connection that just closes.`,
      'Make CLIENT_IDLE_SECONDS longer than the idle timeout of the load balancer.',
    );
  }
  return ok(detail);
}

/** What Kubernetes waits before it kills a process, and the time to store refreshed tokens at the end (src/run.ts). */
const KILLED_AFTER_SECONDS = 30;
const STORE_SECONDS = 2;

function checkShutdownTime({ values }: Settings): Result {
  const { SHUTDOWN_SECONDS: drain, TOKEN_TIMEOUT_SECONDS: token } = values;
  if (drain === undefined || token === undefined) return INVALID_TIMES;
  const longest = Math.max(drain, token) + STORE_SECONDS;
  const detail = `At most ${longest} s after SIGTERM: the longer of SHUTDOWN_SECONDS and TOKEN_TIMEOUT_SECONDS, and ${STORE_SECONDS} s to store refreshed tokens. Docker kills after 10 s unless told otherwise, Kubernetes after ${KILLED_AFTER_SECONDS} s.`;
  if (longest < KILLED_AFTER_SECONDS) return ok(detail);
  return warning(
    detail,
    'Lower SHUTDOWN_SECONDS, or raise terminationGracePeriodSeconds or stop_grace_period above that.',
  );
}

/** The metrics server has no sign-in. */
function checkMetrics({ values }: Settings): Result {
  const { METRICS_PORT: port, HOST: host } = values;
  if (port === undefined || host === undefined) return skipped('METRICS_PORT and HOST must be valid first.');
  if (port === 0) return ok('Off.');
  if (isLoopback(`http://${host.includes(':') ? `[${host}]` : host}`))
    return ok(`On port ${port}, for this machine only.`);
  return warning(
    `On port ${port} of HOST, which other machines can reach: they can read the metrics.`,
    'Let only the collector of metrics reach that port: by a network policy, a firewall, or a port that is not published.',
  );
}

const INVALID_TIMES = skipped('Its variables must be valid first.');
