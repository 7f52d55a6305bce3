import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartupError } from '../errors.ts';

/** A `redis-server` of our own, reachable through a socket that only this user can open. */
export interface PrivateRedis extends AsyncDisposable {
  /** For `REDIS_URL`. */
  readonly url: string;
  /** Process id of the `redis-server`, for tests that pause or kill it. */
  readonly pid: number;
}

const START_WITHIN_MS = 10_000;

/**
 * The shell between us and Redis outlives us by a moment: when the pipe on its standard input closes, because we
 * ended in whatever way, kill -9 included, it ends Redis, a paused one too, and removes the folder. What Redis says
 * comes out of it, behind its process id: whoever Redis has answered has that, too.
 */
const KEEPER = `
  folder=$1
  shift
  exec 3<&0
  sh -c 'echo "$$"; exec redis-server "$@"' redis "$folder/redis.conf" "$@" </dev/null 3<&- 2>&1 &
  pid=$!
  { cat >/dev/null; kill "$pid"; kill -CONT "$pid"; } <&3 >/dev/null 2>&1 &
  exec 3<&-
  wait "$pid"
  rm -rf "$folder"
`;

/** `sentinel` watches over other Redis servers instead of being one. */
export type PrivateRedisMode = 'server' | 'sentinel';

/** The program is missing or does not start; says why. */
class RedisNotStartedError extends StartupError {
  override readonly name = 'RedisNotStartedError';
}

/**
 * Starts a `redis-server` without persistence that ends with this process. `settings` are lines of its
 * configuration file, the last one of a kind counts: `port` and `bind` open it to others than this user. Rejects with
 * a StartupError and with what it said, where the program is missing or does not start.
 */
export async function startPrivateRedis(
  settings: readonly string[] = [],
  mode: PrivateRedisMode = 'server',
): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-redis-'));
  const socket = join(folder, 'redis.sock');
  const conf = ['port 0', `unixsocket ${socket}`, 'unixsocketperm 700', 'save ""', 'appendonly no'];
  await writeFile(join(folder, 'redis.conf'), [...conf, `dir ${folder}`, ...settings, ''].join('\n'));

  // A group of its own: Ctrl-C is for us, and Redis goes when we have finished.
  const args = [folder, ...(mode === 'sentinel' ? ['--sentinel'] : [])];
  const keeper = spawn('sh', ['-c', KEEPER, 'redis-keeper', ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  let said = '';
  keeper.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
  const over = new AbortController();
  const exited = once(keeper, 'exit').finally(() => over.abort());

  const stop = async () => {
    keeper.ref(); // or there might be nothing left to wait with
    keeper.stdin.end();
    await exited;
  };
  try {
    await answers(socket, over.signal);
  } catch (cause) {
    await stop();
    throw new RedisNotStartedError(`The private redis-server did not start: ${said.trim().slice(-500)}`, {
      cause,
    });
  }
  const pid = Number(said.split('\n', 1)[0]);
  keeper.stdout.destroy();
  keeper.unref();
  return { url: `redis+unix://${socket}`, pid, [Symbol.asyncDispose]: stop };
}

/** Resolves once Redis answers; rejects when it has ended, or after START_WITHIN_MS. */
async function answers(path: string, ended: AbortSignal): Promise<void> {
  const giveUpAt = performance.now() + START_WITHIN_MS;
  for (;;) {
    ended.throwIfAborted();
    const probe = connect(path);
    try {
      await once(probe, 'connect', { signal: ended });
      probe.write('PING\r\n');
      await once(probe, 'data', { signal: ended });
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
    } finally {
      probe.destroy();
    }
    await delay(25);
  }
}
