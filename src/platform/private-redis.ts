import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

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
 * ended in whatever way, kill -9 included, it ends Redis and removes the folder.
 */
const KEEPER = `
  redis-server "$1/redis.conf" </dev/null >"$1/redis.log" 2>&1 &
  pid=$!
  echo "$pid"
  cat >/dev/null
  kill "$pid" 2>/dev/null
  wait "$pid"
  rm -rf "$1"
`;

/**
 * Starts a `redis-server` without persistence that ends with this process. `settings` are lines of its
 * configuration file. Rejects where the program is missing or does not start, with what it said.
 */
export async function startPrivateRedis(settings: readonly string[] = []): Promise<PrivateRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-redis-'));
  const socket = join(folder, 'redis.sock');
  const conf = ['port 0', `unixsocket ${socket}`, 'unixsocketperm 700', 'save ""', 'appendonly no'];
  await writeFile(join(folder, 'redis.conf'), [...conf, `dir ${folder}`, ...settings, ''].join('\n'));

  // A group of its own: Ctrl-C is for us, and Redis goes when we have finished.
  const keeper = spawn('sh', ['-c', KEEPER, 'redis-keeper', folder], {
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const exited = once(keeper, 'exit');
  keeper.unref();
  const [line] = (await once(keeper.stdout, 'data')) as [Buffer];
  keeper.stdout.destroy();

  const stop = async () => {
    // Or Node ends with nothing left to do before the keeper has, with exit code 13.
    keeper.ref();
    keeper.stdin.end();
    await exited;
  };
  try {
    await answers(socket);
  } catch (error) {
    await stop();
    throw new Error('The private redis-server did not start. Is Debian’s redis-server installed?', {
      cause: error,
    });
  }
  return { url: `redis+unix://${socket}`, pid: Number(line.toString()), [Symbol.asyncDispose]: stop };
}

async function answers(path: string): Promise<void> {
  const giveUpAt = performance.now() + START_WITHIN_MS;
  for (;;) {
    const probe = connect(path);
    try {
      await once(probe, 'connect');
      probe.write('PING\r\n');
      await once(probe, 'data');
      return;
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
    } finally {
      probe.destroy();
    }
    await delay(25);
  }
}
