import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StartupError } from '../errors.ts';

export type PrivateRedis = Awaited<ReturnType<typeof startPrivateRedis>>;

const START_WITHIN_MS = 10_000;

/**
 * Supervises Redis from a shell that briefly outlives this process. When this process ends, even if killed by SIGKILL, the pipe on the
 * shell's standard input closes. The shell then stops Redis (even if paused) and removes the folder. The shell prints the process id of
 * Redis, followed by the output from Redis.
 */
const SUPERVISOR = `
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

/** `sentinel` monitors other Redis servers instead of serving data. */
export type PrivateRedisMode = 'server' | 'sentinel';

/**
 * Starts a `redis-server` that has no persistence and ends with this process. Only the current user can open the server's socket.
 * `settings` are added to the server's configuration file and override earlier settings. With `port` and `bind`, other users can connect to
 * the server. If the program is missing or doesn't start, rejects with a StartupError that quotes its output.
 */
export async function startPrivateRedis(settings: readonly string[] = [], mode: PrivateRedisMode = 'server') {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-redis-'));
  const socket = join(folder, 'redis.sock');
  const conf = ['port 0', `unixsocket ${socket}`, 'unixsocketperm 700', 'save ""', 'appendonly no'];
  await writeFile(join(folder, 'redis.conf'), [...conf, `dir ${folder}`, ...settings, ''].join('\n'));

  // Detach the shell, so that Ctrl-C reaches only this process. Redis stops after this process has finished.
  const args = [folder, ...(mode === 'sentinel' ? ['--sentinel'] : [])];
  const supervisor = spawn('sh', ['-c', SUPERVISOR, 'redis-supervisor', ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  let output = '';
  supervisor.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = new AbortController();
  const exited = once(supervisor, 'exit').finally(() => ended.abort());

  const stop = async () => {
    supervisor.ref(); // otherwise Node might exit before the supervisor
    supervisor.stdin.end();
    await exited;
  };
  try {
    await untilResponding(socket, ended.signal);
  } catch (cause) {
    await stop();
    throw new StartupError(`The private redis-server did not start: ${output.trim().slice(-500)}`, { cause });
  }
  const pid = Number(output.split('\n', 1)[0]);
  supervisor.stdout.destroy();
  supervisor.unref();
  return {
    /** The value for `REDIS_URL`. */
    url: `redis+unix://${socket}`,
    /** Process id of `redis-server`, for tests that pause or kill it. */
    pid,
    [Symbol.asyncDispose]: stop,
  };
}

/** Resolves once Redis responds. Rejects if Redis exits, or after START_WITHIN_MS. */
async function untilResponding(path: string, ended: AbortSignal): Promise<void> {
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
