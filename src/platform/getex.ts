import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import { StoreUnavailableError } from './errors.ts';
import { UnexpectedReplyError, createReplyReader } from './getex-replies.ts';
import { CLOSING, COMMAND_TIMEOUT_MS } from './redis-connection.ts';
import { fromStore } from './redis.ts';
import type { RedisClient } from './redis.ts';

/**
 * Reads the value of a key and begins its time to live anew, in one command; null where there is none. Rejects with
 * StoreUnavailableError, after 1.5 s at the latest.
 */
export type Getex = (key: string) => Promise<string | null>;

/**
 * GETEX for what is read with each request. Beside a single Redis or one behind Sentinels it has a connection of its own
 * and speaks RESP by itself: half of what a command costs is the client's general machinery (docs/decisions/0021). While
 * that connection is not there, and in a cluster, it goes through the client. Values are read as latin1. Ends with the
 * client.
 */
export function createGetex(redis: RedisClient, seconds: number): Getex {
  const throughClient: Getex = async (key) => fromStore(redis.getex(key, 'EX', seconds));
  if (redis instanceof Cluster) return throughClient;
  const connection = openConnection(redis, seconds);
  return (key) => connection.read(key) ?? throughClient(key);
}

interface Read {
  /** By performance.now(). */
  readonly askedAt: number;
  readonly resolve: (value: string | null) => void;
  readonly reject: (error: StoreUnavailableError) => void;
}

interface Connection {
  /** Null while the connection is not there. */
  read(key: string): Promise<string | null> | null;
}

/** Who has left a command without an answer for so long (ms) is not asked again over this connection. */
const LOST_AFTER_MS = COMMAND_TIMEOUT_MS + 200;

/**
 * ioredis finds the Redis, connects, signs in, waits until it has loaded and comes back after a loss; what it connected
 * is then taken over. It has sent all that it wants to by then, and hears no more of the replies.
 */
function openConnection(redis: Redis, seconds: number): Connection {
  const client = redis.duplicate({ protocol: 2 });
  const expiry = `\r\n$2\r\nEX\r\n$${String(seconds).length}\r\n${seconds}\r\n`;
  let stream: Redis['stream'] | null = null;
  /** Asked and not answered, the oldest first. Those that were given up stay: their replies are still to come. */
  let due: Read[] = [];
  let unsent = '';
  let isSending = false;
  let isWatching = false;

  const takeOver = async () => {
    await client.ping(); // behind all else
    const taken = client.stream;
    if (!isWhereClientIs(redis, taken)) {
      taken.destroy();
      return;
    }
    const nextDue = () => {
      const oldest = due.shift();
      // Dropped, the next one like it would pass for the reply to somebody else's command.
      if (oldest === undefined) throw new UnexpectedReplyError('a reply that nobody has asked for');
      return oldest;
    };
    const read = createReplyReader({
      onValue: (value) => nextDue().resolve(value),
      onRefusal(message) {
        nextDue().reject(new StoreUnavailableError(new Error(message)));
        if (/\bREADONLY\b/.test(message)) taken.destroy(); // a replica that was the master until now
      },
    });
    taken.removeAllListeners('data');
    taken.on('data', (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (error) {
        taken.destroy(error as Error);
      }
    });
    taken.once('close', lose);
    if (taken.destroyed) return;
    stream = taken;
  };

  const lose = () => {
    stream = null;
    unsent = '';
    const lost = due;
    due = [];
    for (const { reject } of lost)
      reject(new StoreUnavailableError(new Error('The connection to Redis is lost')));
  };

  const send = () => {
    isSending = false;
    stream?.write(unsent, 'latin1');
    unsent = '';
  };

  /** One clock for all: who was asked first is the first to be given up. */
  const watch = (ms: number) => {
    isWatching = true;
    // Where it was we who were held up, the answer is here and is read first.
    setTimeout(() => setImmediate(giveUpOverdue), ms).unref();
  };
  const giveUpOverdue = () => {
    isWatching = false;
    const now = performance.now();
    const patient = due.findIndex(({ askedAt }) => askedAt + COMMAND_TIMEOUT_MS > now);
    for (const { reject } of patient < 0 ? due : due.slice(0, patient))
      reject(new StoreUnavailableError(new Error('Redis did not answer in time')));
    const [oldest] = due;
    if (oldest === undefined) return;
    if (oldest.askedAt + LOST_AFTER_MS <= now) {
      stream?.destroy();
      return;
    }
    const next = due[patient];
    const lostAt = oldest.askedAt + LOST_AFTER_MS;
    watch(Math.min(lostAt, next === undefined ? Infinity : next.askedAt + COMMAND_TIMEOUT_MS) - now);
  };

  client.on('error', () => {}); // the other connection's are told
  client.on('ready', () => {
    takeOver().catch(() => {}); // it is lost again, and comes back by itself
  });
  redis.on('close', () => stream?.destroy()); // it may have left this Redis for another
  redis.once(CLOSING, () => client.disconnect()).once('end', () => client.disconnect());

  return {
    read(key) {
      if (stream === null) return null;
      const bytes = Buffer.byteLength(key);
      const sent = bytes === key.length ? key : Buffer.from(key).toString('latin1');
      unsent += `*4\r\n$5\r\nGETEX\r\n$${bytes}\r\n${sent}${expiry}`;
      if (!isSending) {
        // What other requests of this turn of the event loop read leaves in the same write.
        isSending = true;
        setImmediate(send);
      }
      return new Promise((resolve, reject) => {
        due.push({ askedAt: performance.now(), resolve, reject });
        if (!isWatching) watch(COMMAND_TIMEOUT_MS);
      });
    },
  };
}

/** After a fail-over one Sentinel may still name the master of before. */
function isWhereClientIs(redis: Redis, taken: Redis['stream']): boolean {
  if (redis.options.sentinels === undefined || redis.options.sentinels === null) return true;
  const { stream } = redis as { stream?: Redis['stream'] };
  if (stream === undefined || stream.destroyed) return false; // that one still tells where it was
  return stream.remoteAddress === taken.remoteAddress && stream.remotePort === taken.remotePort;
}
