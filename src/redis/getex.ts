import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import { createAwaitedReplies } from './awaited-replies.ts';
import { StoreUnavailableError } from '../errors.ts';
import { createGatheredWrites } from './gathered-writes.ts';
import { UnexpectedReplyError, createReplyReader } from './getex-replies.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisMetrics } from './redis-metrics.ts';
import { fromStore } from './client.ts';
import type { RedisClient } from './client.ts';
import { LOGIN, toAuthCommand } from './login.ts';
import type { RedisLogin } from './login.ts';
import { takeConnection } from './taken-connection.ts';
import type { Stream } from './taken-connection.ts';

/**
 * Reads a value of ASCII and begins its time to live anew, in one command; null where there is none. Rejects with
 * StoreUnavailableError, after 1.5 s at the latest.
 */
export type Getex = (key: string, seconds: number) => Promise<string | null>;

/**
 * GETEX for what is read with each request. Beside a single Redis or one behind Sentinels it has a connection of its own
 * and speaks RESP by itself: half of what a command costs is the client's general machinery (docs/decisions/0021). While
 * that connection is not there, and in a cluster, it goes through the client. Ends with the client. `metrics` are null where
 * nobody reads them.
 */
export function createGetex(redis: RedisClient, log: Logger, metrics: RedisMetrics | null = null): Getex {
  const getex = createUncounted(redis, log);
  if (metrics === null) return getex;
  return async (key, seconds) => {
    const askedAt = performance.now();
    try {
      const value = await getex(key, seconds);
      metrics.settled('read', askedAt);
      return value;
    } catch (error) {
      metrics.settled('read', askedAt, error);
      throw error;
    }
  };
}

function createUncounted(redis: RedisClient, log: Logger): Getex {
  const throughClient: Getex = async (key, seconds) => fromStore(redis.getex(key, 'EX', seconds));
  if (redis instanceof Cluster) return throughClient;
  const throughOwn = createOwnGetex(redis, log);
  return (key, seconds) => throughOwn(key, seconds) ?? throughClient(key, seconds);
}

/** Gives null while its connection is not there. */
function createOwnGetex(redis: Redis, log: Logger): (...read: Parameters<Getex>) => ReturnType<Getex> | null {
  const awaited = createAwaitedReplies<string | null>(() => connection.stream?.destroy());
  const commands = createGatheredWrites((text) => connection.stream?.write(text, 'latin1'));

  /** Of the replies that are due, those to AUTH. */
  let signInsDue = 0;

  const next = () => {
    const first = awaited.next();
    // Dropped, the next one like it would pass for the reply to somebody else's command.
    if (first === undefined) throw new UnexpectedReplyError('a reply that nobody has asked for');
    return first;
  };
  const listen = (stream: Stream) => {
    const read = createReplyReader({
      onValue: (value) => next().resolve(value),
      onStatus() {
        if (signInsDue === 0) throw new UnexpectedReplyError('a status that nobody has asked for');
        signInsDue -= 1;
        next().resolve(null);
      },
      onRefusal(message) {
        next().reject(new StoreUnavailableError(new Error(message)));
        if (/\bREADONLY\b/.test(message)) leave(redis); // a replica that was the master until now
      },
    });
    stream.on('data', (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (error) {
        log.warn({ err: error }, 'redis sent what is no reply');
        stream.destroy();
      }
    });
    stream.once('close', () => {
      signInsDue = 0;
      commands.drop();
      awaited.lose();
    });
  };
  const connection = takeConnection(redis, log, listen);
  redis.on(LOGIN, (login: RedisLogin) => {
    const { stream } = connection;
    if (stream === null || login.password === undefined) return;
    signInsDue += 1;
    commands.add(toAuthCommand(login));
    awaited.add().catch(() => stream.destroy()); // it comes back with the new login
  });

  return (key, seconds) => {
    if (connection.stream === null) return null;
    commands.add(toCommand(key, seconds));
    return awaited.add();
  };
}

/** As RESP has it (an array of bulk strings), each byte a character. */
function toCommand(key: string, seconds: number): string {
  const bytes = Buffer.byteLength(key);
  const sent = bytes === key.length ? key : Buffer.from(key).toString('latin1');
  const expiry = String(seconds);
  return `*4\r\n$5\r\nGETEX\r\n$${bytes}\r\n${sent}\r\n$2\r\nEX\r\n$${expiry.length}\r\n${expiry}\r\n`;
}

/** The client, which writes, goes where it finds the master now; and what was taken beside it goes with it. */
function leave(redis: Redis): void {
  const { stream } = redis as { stream?: Stream };
  stream?.destroy();
}
