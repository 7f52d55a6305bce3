import { storeReply, type RedisClient } from '../../redis/client.ts';
import { newSecret, storeKey } from '../secrets.ts';
import {
  FAULT_TARGETS,
  readFaultCommand,
  type Fault,
  type FaultFields,
  type FaultRoute,
  type FaultTarget,
} from './fault.ts';

/** A fault that still affects requests. */
export interface ActiveFault {
  readonly fault: Fault;
  /** Number of requests that the fault will still affect; absent for a fault that lasts until it is cleared. */
  readonly callsLeft?: number;
}

export type FaultStore = ReturnType<typeof createFaultStore>;

type AppliesTo = (fault: Fault) => Promise<boolean>;

/** Time after which a fault expires if it is not cleared, in seconds. */
const FAULT_SECONDS = 86_400;

/**
 * Counts a request, unless the fault has been replaced since it was read. Deletes the fault after its last request. The count
 * of a fault without a request limit starts at 0 and becomes negative, so the fault is never deleted here.
 */
const COUNT_OFF = `
  if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
  if redis.call('HINCRBY', KEYS[1], 'left', -1) == 0 then redis.call('DEL', KEYS[1]) end
  return 1`;

/**
 * Stores faults in Redis, so that each fault affects exactly the given number of requests, across all processes. Every method rejects
 * with StoreUnavailableError while Redis is down.
 */
export function createFaultStore(redis: RedisClient) {
  const key = (route: FaultTarget) => storeKey('fault', route);

  const find = async (route: FaultTarget) => {
    const { id, fields, left } = await storeReply(redis.hgetall(key(route)));
    if (id === undefined || fields === undefined) return undefined;
    // Validate the fields again, because another version of the service may have written them.
    const reading = readFaultCommand(JSON.parse(fields) as FaultFields);
    if (!('command' in reading) || reading.command.kind !== 'set') return undefined;
    return { id, fault: reading.command.fault, left: Number(left) };
  };

  const takeFrom = async (target: FaultTarget, appliesTo: AppliesTo) => {
    const found = await find(target);
    if (found === undefined || !(await appliesTo(found.fault))) return undefined;
    const isTaken = (await storeReply(redis.eval(COUNT_OFF, 1, key(target), found.id))) === 1;
    return isTaken ? found.fault : undefined;
  };

  return {
    /** Replaces the current fault for the same route. `fields` are the fields from which `fault` was parsed. */
    async set({ route, calls }: Fault, fields: FaultFields): Promise<void> {
      const hash = { id: newSecret(), fields: JSON.stringify(fields), left: calls ?? 0 };
      const both = redis.multi().hset(key(route), hash).expire(key(route), FAULT_SECONDS);
      await storeReply(both.exec().then(requireDone));
    },
    /** Clears the fault for a route, or all faults if no route is given. */
    async clear(route?: FaultTarget): Promise<void> {
      const routes = route === undefined ? FAULT_TARGETS : [route];
      await Promise.all(routes.map((one) => storeReply(redis.del(key(one)))));
    },
    async list(): Promise<ActiveFault[]> {
      const stored = await Promise.all(FAULT_TARGETS.map(find));
      return stored
        .filter((one) => one !== undefined)
        .map(({ fault, left }) => (fault.calls === undefined ? { fault } : { fault, callsLeft: left }));
    },
    /**
     * Resolves with the fault that applies to a request on this route, and counts the request. The route's own fault takes
     * precedence over the fault for `any`.
     */
    take: async (route: FaultRoute, appliesTo: AppliesTo): Promise<Fault | undefined> =>
      (await takeFrom(route, appliesTo)) ?? takeFrom('any', appliesTo),
  };
}

/** Throws the error from a failed command in a transaction, because the transaction resolves despite such errors. */
function requireDone(results: readonly [Error | null, unknown][] | null): void {
  if (results === null) throw new Error('Redis did not execute the transaction');
  for (const [error] of results) if (error !== null) throw error;
}
