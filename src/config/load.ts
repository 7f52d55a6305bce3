import { readBuild, type Build } from './build-info.ts';
import { ConfigError, readVariables, type Env, type EnvReading } from './env.ts';
import { fileVariables, isLoopback, variables } from './schema.ts';

type Values = Required<EnvReading<typeof variables>['values']>;
type Variable = keyof Values;

/** Variables whose field in Config is not simply their name in camel case. */
const FIELDS = {
  PUBLIC_URL: 'publicOrigin',
  SERVICE_URL: 'serviceOrigin',
  REDIS_URL: 'redis',
  COOKIE_SAMESITE: 'cookieSameSite',
} as const;

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<CamelCase<Tail>>}`
  : Lowercase<Name>;
type FieldOf<Name extends Variable> = Name extends keyof typeof FIELDS
  ? (typeof FIELDS)[Name]
  : CamelCase<Name>;
type Fields = { readonly [Name in Variable as FieldOf<Name>]: Values[Name] };

/** The checked and frozen configuration, with a field for each variable in schema.ts, such as `maxBodyBytes` for `MAX_BODY_BYTES`. */
export interface Config extends Fields {
  readonly build: Build;
  /** The origin that browsers see; by default `localhost` with `port`. */
  readonly publicOrigin: string;
  /** Whether `publicOrigin` uses HTTPS. With HTTPS, cookies are `Secure` and responses include an HSTS header. */
  readonly isHttps: boolean;
  readonly publicUrlIsDefault: boolean;
}

/** The fields that SIGHUP replaces while the process is running. */
export type Secrets = Pick<Config, FieldOf<(typeof fileVariables)[number]>>;

/** Names of all variables, without their `_FILE` variants. */
export const variableNames: readonly string[] = Object.keys(variables);

/**
 * Reads the configuration from `env` and, for `_FILE` variables, from disk. Throws a ConfigError that lists every problem. Problems never
 * contain values. The result is frozen, except for the key bytes. If a required variable is missing and `ignoresDotEnv` is set, the error
 * says that a `.env` was not read.
 */
export function loadConfig(env: Env, ignoresDotEnv = false): Config {
  const { values, problems, missing } = readConfig(env);
  if (problems.length > 0) {
    const hint = ignoresDotEnv && missing.size > 0 ? DOT_ENV_IGNORED : undefined;
    throw new ConfigError(problems, hint);
  }
  return toConfig(values as Values, readBuild(env));
}

const DOT_ENV_IGNORED =
  'The .env in this folder is not read in production. Set the variables in the environment, or set NODE_ENV=development to try Cloakroom.';

/** Reads the configuration. Returns the valid values, and problems with the other variables. */
export function readConfig(env: Env): EnvReading<typeof variables> {
  const { values, problems, missing } = readVariables(variables, env, fileVariables);
  const isProduction = env['NODE_ENV'] === 'production';
  const required = isProduction && !env['PUBLIC_URL'] ? ['PUBLIC_URL'] : [];
  return {
    values,
    problems: [
      ...problems,
      ...required.map((name) => `${name} is required in production`),
      ...conflicts(values, isProduction),
    ],
    missing: new Set([...missing, ...required]),
  };
}

/** Returns the configuration with the port that was actually bound. A default `publicOrigin` changes with the port. */
export function withPort(config: Config, port: number): Config {
  const publicOrigin = config.publicUrlIsDefault ? localOrigin(port) : config.publicOrigin;
  return Object.freeze({ ...config, port, publicOrigin });
}

/** Returns the name of a variable's field in Config. */
export function fieldOf<Name extends Variable>(name: Name): FieldOf<Name> {
  const camelCase = name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return ((FIELDS as Partial<Record<Variable, string>>)[name] ?? camelCase) as FieldOf<Name>;
}

/** Returns problems with combinations of variables that are individually valid. */
function conflicts(values: Partial<Values>, isProduction: boolean): string[] {
  const { PUBLIC_URL, SERVICE_URL, ALLOW_INSECURE_SERVICE, PORT, METRICS_PORT } = values;
  const rules: [boolean, string][] = [
    [
      isProduction && isInsecure(PUBLIC_URL),
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

/** Returns whether others on the network could read requests to an origin. */
function isInsecure(origin: string | undefined): boolean {
  return origin !== undefined && origin.startsWith('http:') && !isLoopback(origin);
}

/** Returns the origin at which browsers on this machine reach a port. */
export function localOrigin(port: number): string {
  return new URL(`http://localhost:${port}`).origin;
}

function toConfig(values: Values, build: Build): Config {
  const fields = Object.entries(values).map(([name, value]) => [fieldOf(name as Variable), value]);
  const publicOrigin = values.PUBLIC_URL ?? localOrigin(values.PORT);
  return deepFreeze({
    ...(Object.fromEntries(fields) as Fields),
    build,
    publicOrigin,
    isHttps: publicOrigin.startsWith('https:'),
    publicUrlIsDefault: values.PUBLIC_URL === undefined,
  });
}

function deepFreeze<T extends object>(value: T): T {
  for (const member of Object.values(value)) {
    // Typed arrays can't be frozen.
    if (typeof member === 'object' && member !== null && !ArrayBuffer.isView(member)) deepFreeze(member);
  }
  return Object.freeze(value);
}
