import { Cluster, type Command } from 'ioredis';
import { createDeferred, type Deferred } from '../promises.ts';
import { StoreUnavailableError, storeReply, type RedisClient } from './client.ts';

/**
 * Reads the value of a session key and resets its time to live. Resolves to null if there is no value. On failure, or after 1.5 s without
 * a reply, rejects with StoreUnavailableError.
 */
export type ReadSession = (key: string) => Promise<string | null>;

type Value = string | null | Error;

interface Batch {
  readonly keys: string[];
  readonly values: Deferred<readonly Value[]>;
}

/** Maximum number of keys per script, because a script blocks all other Redis clients. This many reads take about 0.2 ms. */
const MAX_KEYS = 100;

/**
 * Runs `GETEX` for each key. A value of the wrong type fails only its own read. Any other error (READONLY, MISCONF) applies to
 * all keys and is returned as the reply, because ioredis checks replies for READONLY.
 */
const READ_SESSIONS = `
  local values = {}
  for at, key in ipairs(KEYS) do
    local value = redis.pcall('GETEX', key, 'EX', ARGV[1])
    if type(value) == 'table' and not string.find(value.err, 'WRONGTYPE', 1, true) then return value end
    values[at] = value
  end
  return values`;

/**
 * Reads sessions in batches, which saves CPU time (docs/decisions/0004). A batch has the reads from two turns of the event loop, but at most
 * 100 keys. The command is `EVAL`, which costs no more than `EVALSHA` and needs no extra permission. Reads and writes share a connection, so
 * a session that has ended on one server is never read from another. In a cluster, each read is a separate command, because the keys are in
 * different slots.
 */
export function createSessionReads(redis: RedisClient, idleSeconds: number): ReadSession {
  const readOne = async (key: string) => storeReply(redis.getex(key, 'EX', idleSeconds));
  if (redis instanceof Cluster) return readOne;

  const readAll = async (keys: readonly string[]): Promise<readonly Value[]> => {
    const [first = ''] = keys;
    if (keys.length === 1) return [await readOne(first)];
    return storeReply(redis.eval(READ_SESSIONS, keys.length, ...keys, idleSeconds) as Promise<Value[]>);
  };

  let open: Batch | null = null;

  const openBatch = (): Batch => {
    const batch = { keys: [], values: createDeferred<readonly Value[]>() };
    setImmediate(() => setImmediate(send, batch));
    return batch;
  };
  const send = (batch: Batch) => {
    if (batch === open) open = null;
    readAll(batch.keys).then(batch.values.resolve, batch.values.reject);
  };

  return async (key) => {
    const batch = (open ??= openBatch());
    const at = batch.keys.push(key) - 1;
    if (batch.keys.length === MAX_KEYS) open = null;
    const value = (await batch.values.promise)[at];
    if (value instanceof Error) throw new StoreUnavailableError(value);
    return value ?? null;
  };
}

/** Returns whether a command reads sessions. */
export function isSessionRead({ name, args }: Command): boolean {
  return name === 'getex' || (name === 'eval' && args[0] === READ_SESSIONS);
}
