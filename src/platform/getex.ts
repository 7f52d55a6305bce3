import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import { createAwaitedReplies } from './awaited-replies.ts';
import type { AwaitedReplies } from './awaited-replies.ts';
import { StoreUnavailableError } from './errors.ts';
import { UnexpectedReplyError, createReplyReader } from './getex-replies.ts';
import { CLOSING } from './redis-connection.ts';
import { fromStore } from './redis.ts';
import type { RedisClient } from './redis.ts';

/**
 * Reads a value of ASCII and begins its time to live anew, in one command; null where there is none. Rejects with
 * StoreUnavailableError, after 1.5 s at the latest.
 */
export type Getex = (key: string) => Promise<string | null>;

/**
 * GETEX for what is read with each request. Beside a single Redis or one behind Sentinels it has a connection of its own
 * and speaks RESP by itself: half of what a command costs is the client's general machinery (docs/decisions/0021). While
 * that connection is not there, and in a cluster, it goes through the client. Ends with the client.
 */
export function createGetex(redis: RedisClient, seconds: number): Getex {
  const throughClient: Getex = async (key) => fromStore(redis.getex(key, 'EX', seconds));
  if (redis instanceof Cluster) return throughClient;
  const connection = openConnection(redis, seconds);
  return (key) => connection.read(key) ?? throughClient(key);
}

interface Connection {
  /** Null while the connection is not there. */
  read(key: string): Promise<string | null> | null;
}

/**
 * ioredis finds the Redis, connects, signs in, waits until it has loaded and comes back after a loss; what it connected
 * is then taken over. It has sent all that it wants to by then, and hears no more of the replies.
 */
function openConnection(redis: Redis, seconds: number): Connection {
  const client = redis.duplicate({ protocol: 2 });
  const toCommand = createEncoder(seconds);
  let stream: Redis['stream'] | null = null;
  let unsent = '';
  let gathered = 0;
  let wereSeveral = false;
  const awaited = createAwaitedReplies<string | null>(() => stream?.destroy());

  const takeOver = async () => {
    await client.ping(); // behind all else
    const taken = client.stream;
    if (!isWhereClientIs(redis, taken)) {
      taken.destroy();
      return;
    }
    readReplies(taken, awaited);
    taken.once('close', () => {
      stream = null;
      unsent = '';
      awaited.lose();
    });
    if (!taken.destroyed) stream = taken;
  };
  const send = () => {
    wereSeveral = gathered > 1;
    gathered = 0;
    if (unsent !== '') stream?.write(unsent, 'latin1');
    unsent = '';
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
      // What is read in one turn of the event loop leaves in one write. While several come at a time, that of the next
      // turn as well: a call under load costs an eighth less (docs/decisions/0021).
      if (gathered === 0 && wereSeveral) setImmediate(setImmediate, send);
      else if (gathered === 0) setImmediate(send);
      gathered += 1;
      unsent += toCommand(key);
      return awaited.add();
    },
  };
}

/** Reads what comes on a connection as replies to those that wait; whatever else comes ends it. */
function readReplies(stream: Redis['stream'], awaited: AwaitedReplies<string | null>): void {
  const next = () => {
    const first = awaited.next();
    // Dropped, the next one like it would pass for the reply to somebody else's command.
    if (first === undefined) throw new UnexpectedReplyError('a reply that nobody has asked for');
    return first;
  };
  const read = createReplyReader({
    onValue: (value) => next().resolve(value),
    onRefusal(message) {
      next().reject(new StoreUnavailableError(new Error(message)));
      if (/\bREADONLY\b/.test(message)) stream.destroy(); // a replica that was the master until now
    },
  });
  stream.removeAllListeners('data');
  stream.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      stream.destroy(error as Error);
    }
  });
}

/** Commands as RESP has them (arrays of bulk strings), each byte a character. */
function createEncoder(seconds: number): (key: string) => string {
  const expiry = `\r\n$2\r\nEX\r\n$${String(seconds).length}\r\n${seconds}\r\n`;
  return (key) => {
    const bytes = Buffer.byteLength(key);
    const sent = bytes === key.length ? key : Buffer.from(key).toString('latin1');
    return `*4\r\n$5\r\nGETEX\r\n$${bytes}\r\n${sent}${expiry}`;
  };
}

/** After a fail-over one Sentinel may still name the master of before. */
function isWhereClientIs(redis: Redis, taken: Redis['stream']): boolean {
  if (redis.options.sentinels === undefined || redis.options.sentinels === null) return true;
  const { stream } = redis as { stream?: Redis['stream'] };
  if (stream === undefined || stream.destroyed) return false; // that one still tells where it was
  return stream.remoteAddress === taken.remoteAddress && stream.remotePort === taken.remotePort;
}
