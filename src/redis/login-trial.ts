import { Cluster, Redis } from 'ioredis';
import { ConfigError } from '../config/env.ts';
import { probeKeys } from './probe.ts';
import { useLogin } from './login.ts';
import type { RedisLogin } from './login.ts';
import { COMMAND_TIMEOUT_MS, endSilentConnections } from './watchdog.ts';

/** Redis's own words for: sign in first, not with these, and not you. */
const REFUSAL = /^(?:NOAUTH|WRONGPASS|NOPERM)\b/;

const ONCE = {
  db: 0,
  protocol: 2, // of the third ioredis begins with HELLO, and ends the connection where that is refused
  lazyConnect: true,
  enableReadyCheck: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: COMMAND_TIMEOUT_MS,
  retryStrategy: () => null,
} as const;

/**
 * Signs in with another login over a connection of its own, and reads as `GET /readyz` does: who may sign in may still not
 * read. A Sentinels' master is asked, and of a cluster each node that we stand at. `prefix` starts every key. Rejects with a
 * ConfigError where Redis says no; a Redis that is away, or goes meanwhile, says nothing.
 */
export async function tryLogin(client: Redis | Cluster, login: RedisLogin, prefix: string): Promise<void> {
  const connections = client instanceof Cluster ? client.nodes() : [client];
  const standing = connections.filter(({ status }) => status === 'ready');
  const keys = probeKeys(client, prefix);
  await Promise.all(standing.map(async (connection) => tryAt(connection, login, keys)));
}

async function tryAt(
  connection: Redis,
  { username, password }: RedisLogin,
  keys: readonly string[],
): Promise<void> {
  const trial = openTrial(connection);
  try {
    await trial.connect();
    if (password !== undefined) await trial.auth(username ?? 'default', password);
    const { db = 0 } = connection.options;
    if (db !== 0) await trial.select(db);
    // A node of a cluster says where a key lives that is not its own (MOVED), and not whether we may read it.
    const answers = await Promise.allSettled(keys.map(async (key) => trial.getex(key, 'EX', 1)));
    for (const answer of answers)
      if (answer.status === 'rejected' && isRefusal(answer.reason)) throw answer.reason;
  } catch (error) {
    if (isRefusal(error)) throw new ConfigError([toProblem(error.message, password)]);
  } finally {
    await trial.quit().catch(() => trial.disconnect());
  }
}

/** To the very server, once; says nothing by itself that a right is needed for. */
function openTrial(connection: Redis): Redis {
  const { sentinels } = connection.options;
  const { remoteAddress: host = '', remotePort: port = 0 } = connection.stream;
  const trial = sentinels ? new Redis({ ...ONCE, host, port }) : connection.duplicate(ONCE);
  useLogin(trial.options, {});
  endSilentConnections(trial);
  trial.on('error', () => {}); // what it means is said by the command that it hits
  return trial;
}

function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError' && REFUSAL.test(error.message);
}

function toProblem(message: string, password: string | undefined): string {
  if (message.startsWith('NOPERM')) return 'REDIS_URL has a user who may not do at Redis what Cloakroom does';
  return password === undefined
    ? 'REDIS_URL has no password, and Redis asks for one'
    : 'REDIS_URL has a user or password that Redis refuses';
}
