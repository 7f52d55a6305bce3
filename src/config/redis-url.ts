import { isIPv6 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

interface RedisLogin {
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
}

interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/** The address of Redis and the login for it, parsed from `REDIS_URL`. */
export type RedisTarget =
  | ({ readonly kind: 'single'; readonly tls: boolean } & RedisNode & RedisLogin)
  | ({ readonly kind: 'socket'; readonly path: string } & RedisLogin)
  | ({
      readonly kind: 'sentinel';
      readonly sentinels: readonly RedisNode[];
      readonly master: string;
    } & RedisLogin)
  | ({ readonly kind: 'cluster'; readonly nodes: readonly RedisNode[] } & RedisLogin);

/** Returns whether two targets differ at most in user and password. */
export function isSameRedis(one: RedisTarget, other: RedisTarget): boolean {
  const withoutLogin = ({ username: _user, password: _password, ...target }: RedisTarget) => target;
  return isDeepStrictEqual(withoutLogin(one), withoutLogin(other));
}

const SHAPE =
  /^(?<scheme>redis|rediss|redis\+sentinel|redis\+cluster|redis\+unix):\/\/(?:(?<login>[^@/?#]*)@)?(?<nodes>[^/?#]*)(?<path>\/[^?#]*)?(?:\?(?<query>[^#]*))?$/;

const ENCODE = 'special characters in its user and password must be percent-encoded';

/** The master names that Sentinel accepts. */
const MASTER_NAME = /^[\w.-]+$/;

/**
 * Parses `redis://`, `rediss://`, `redis+sentinel://h1:26379,h2:26379/mymaster?db=0`, `redis+cluster://h1:6379,h2:6379` and,
 * for a Redis on the same host, `redis+unix:///path/to/redis.sock`. Throws an Error whose message says what is wrong without
 * quoting the URL, which may contain a password.
 */
export function parseRedisUrl(url: string): RedisTarget {
  const { scheme = '', login = '', nodes = '', path = '', query = '' } = SHAPE.exec(url)?.groups ?? {};
  if (scheme === '')
    throw new Error(
      `must start with redis://, rediss://, redis+sentinel://, redis+cluster:// or redis+unix://; ${ENCODE}`,
    );
  const options = new URLSearchParams(query);
  const unknown = [...options.keys()].find((name) => name !== 'db');
  if (unknown !== undefined) throw new Error('has an option other than "db"');
  const segment = decode(path.slice(1));
  const databases = options.getAll('db');
  if (databases.length > 1) throw new Error('names the database twice');
  const where = { ...parseLogin(login), db: parseDb(databases[0] ?? '0') };

  switch (scheme) {
    case 'redis+unix':
      if (nodes !== '' || segment === '') throw new Error('must be of the form redis+unix:///path/to/socket');
      return { kind: 'socket', path: `/${segment}`, ...where };
    case 'redis+sentinel':
      if (!MASTER_NAME.test(segment)) throw new Error('must name the master: redis+sentinel://host/mymaster');
      return { kind: 'sentinel', sentinels: parseNodes(nodes, 26379), master: segment, ...where };
    case 'redis+cluster':
      if (segment !== '' || where.db !== 0)
        throw new Error('must not name a database other than 0 for a cluster');
      return { kind: 'cluster', nodes: parseNodes(nodes, 6379), ...where };
    default: {
      const [node, ...more] = parseNodes(nodes, 6379);
      if (node === undefined || more.length > 0) throw new Error('must name exactly one host');
      if (segment !== '' && databases.length > 0) throw new Error('names the database twice');
      const db = segment === '' ? where.db : parseDb(segment);
      return { kind: 'single', tls: scheme === 'rediss', ...node, ...where, db };
    }
  }
}

function parseLogin(login: string): { username?: string; password?: string } {
  const colon = login.indexOf(':');
  const username = decode(colon < 0 ? login : login.slice(0, colon));
  const password = colon < 0 ? '' : decode(login.slice(colon + 1));
  // Given only a user, ioredis would silently connect without authenticating.
  if (username !== '' && password === '') throw new Error('has a user without a password');
  return { ...(username && { username }), ...(password && { password }) };
}

const NODE = /^(?:\[(?<host6>[^\]]+)\]|(?<name>[\w.-]+))(?::(?<port>\d{1,5}))?$/;

/** Accepts only host names and addresses. Otherwise, part of a password with an unencoded "@" could be mistaken for a host and logged. */
function parseNodes(text: string, defaultPort: number): RedisNode[] {
  return text.split(',').map((part) => {
    const groups = NODE.exec(part)?.groups ?? {};
    const host = groups['name'] ?? groups['host6'];
    const port = Number(groups['port'] ?? defaultPort);
    if (host === undefined || (groups['name'] === undefined && !isIPv6(host)) || port < 1 || port > 65_535)
      throw new Error(`has a host that is not of the form host or host:port; ${ENCODE}`);
    return { host, port };
  });
}

function parseDb(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new Error('has a database that is not a number');
  return Number(text);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('has a malformed percent-encoding');
  }
}
