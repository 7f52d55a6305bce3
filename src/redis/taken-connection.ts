import type { Redis } from 'ioredis';
import type { Logger } from '../observability/logger.ts';
import { CLOSING } from './connect.ts';
import { LOGIN, useLogin } from './login.ts';
import type { RedisLogin } from './login.ts';
import { endSilentConnections } from './watchdog.ts';

export type Stream = Redis['stream'];

/** A connection that ioredis has made and others speak on. */
export interface TakenConnection {
  /** Null while it is not there. */
  readonly stream: Stream | null;
}

/** Where another server was reached, as through a balancer or just after a fail-over, it is tried again after this. */
const ASK_AGAIN_MS = 1_000;
const TELL_AFTER_MS = 5_000;

/**
 * Opens a second connection to the server that `redis` is connected to, and again whenever it is lost; it ends with
 * `redis`, and follows it. ioredis finds the server, speaks TLS, signs in, selects the database and waits until it has
 * loaded. Then `onTaken` gets the stream: nobody else listens for its data. Only the very same server will do, by its
 * run id: elsewhere a session that was ended may still stand.
 *
 * That rests on this of ioredis 6: all that it sends by itself it has sent before `ready`; replies come in order, so
 * that behind the one to our INFO none is due. The log tells where the connection is missing while `redis` is well:
 * nothing else shows it.
 */
export function takeConnection(
  redis: Redis,
  log: Logger,
  onTaken: (stream: Stream) => void,
): TakenConnection {
  const client = redis.duplicate();
  endSilentConnections(client);
  /** Where `redis` is. */
  let home: string | null = null;
  /** What was reached and is not taken yet. */
  let reached: { readonly stream: Stream; readonly runId: string } | null = null;
  let stream: Stream | null = null;
  let lastError: unknown;
  let isMissed = false;

  const take = (taken: Stream) => {
    taken.removeAllListeners('data'); // ioredis would look for the commands that our replies belong to
    taken.once('close', () => (stream = null));
    onTaken(taken);
    stream = taken;
    if (isMissed) log.info('sessions have a connection for reading again');
    isMissed = false;
  };
  const takeWhereHome = () => {
    if (home === null || reached === null) return;
    const { stream: there, runId } = reached;
    reached = null;
    if (there.destroyed) return;
    if (runId === home) take(there);
    else {
      lastError = new Error('it leads to another server');
      setTimeout(() => there.destroy(), ASK_AGAIN_MS).unref();
    }
  };
  const learnHome = async () => {
    const { stream: asked } = redis;
    const runId = await readRunId(redis);
    if (redis.stream === asked && !asked.destroyed) home = runId;
    takeWhereHome();
  };
  const reach = async () => {
    const { stream: there } = client;
    reached = { stream: there, runId: await readRunId(client) };
    takeWhereHome();
  };
  const keepError = (error: unknown) => (lastError = error);
  const tellWhereMissing = () => {
    if (stream !== null || redis.status !== 'ready' || isMissed) return;
    isMissed = true;
    log.warn({ err: lastError }, 'sessions have no connection for reading: calls go on, and cost more');
  };

  if (redis.status === 'ready') learnHome().catch(keepError);
  redis.on('ready', () => void learnHome().catch(keepError));
  redis.on('close', () => {
    home = null;
    stream?.destroy();
  });
  redis.on(LOGIN, (login: RedisLogin) => useLogin(client.options, login));
  client.on('error', keepError);
  client.on('ready', () => void reach().catch(keepError));
  const telling = setInterval(tellWhereMissing, TELL_AFTER_MS).unref();
  const end = () => {
    clearInterval(telling);
    client.disconnect();
  };
  redis.once(CLOSING, end).once('end', end);

  return {
    get stream() {
      return stream?.destroyed === false ? stream : null;
    },
  };
}

/** What a server calls itself from its start to its end. */
async function readRunId(redis: Redis): Promise<string> {
  const [, runId] = /^run_id:(\w+)/m.exec(await redis.info('server')) ?? [];
  if (runId === undefined) throw new Error('it does not say which server it is');
  return runId;
}
