import { fromStore } from '../../redis/client.ts';
import type { RedisClient } from '../../redis/client.ts';
import { FAULT_SECONDS } from '../lifetimes.ts';
import { newSecret, storeKey } from '../secrets.ts';
import { FAULT_TARGETS } from './fault.ts';
import type { Fault, FaultRoute, FaultTarget } from './fault.ts';
import { readFaultCommand } from './fault-command.ts';
import type { FaultFields } from './fault-command.ts';

/** A fault that calls still meet. */
export interface ActiveFault {
  readonly fault: Fault;
  /** Undefined until it is cleared. */
  readonly callsLeft?: number;
}

/** Whether a fault means anything to a call. */
type Concerns = (fault: Fault) => Promise<boolean>;

export interface FaultStore {
  /** Replaces whatever the same route had; `fields` are those that it was read from. */
  set(fault: Fault, fields: FaultFields): Promise<void>;
  /** Without a route: all of them. */
  clear(route?: FaultTarget): Promise<void>;
  list(): Promise<ActiveFault[]>;
  /**
   * The fault that this call of a route meets, the route's own before that of `any`. A call that `concerns` says no
   * to uses none of the fault's calls up.
   */
  take(route: FaultRoute, concerns: Concerns): Promise<Fault | undefined>;
}

/**
 * Counts a call off, unless the fault was replaced since it was read; deletes it with its last call. Where there is
 * no end, `left` starts at 0 and is never 0 again.
 */
const COUNT_OFF = `
  if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
  if redis.call('HINCRBY', KEYS[1], 'left', -1) == 0 then redis.call('DEL', KEYS[1]) end
  return 1`;

/** What stands in Redis. */
interface Found {
  readonly id: string;
  readonly fault: Fault;
  readonly left: number;
}

/**
 * The faults, in Redis: over any number of processes exactly as many calls meet one as were asked for. Every method
 * rejects with StoreUnavailableError where Redis is away.
 */
export function createFaultStore(redis: RedisClient): FaultStore {
  const key = (route: FaultTarget) => storeKey('fault', route);

  const find = async (route: FaultTarget): Promise<Found | undefined> => {
    const { id, fields, left } = await fromStore(redis.hgetall(key(route)));
    if (id === undefined || fields === undefined) return undefined;
    // Kept as it came and read anew: another version may have written it.
    const reading = readFaultCommand(JSON.parse(fields) as FaultFields);
    if (!('command' in reading) || reading.command.kind !== 'set') return undefined;
    return { id, fault: reading.command.fault, left: Number(left) };
  };

  const takeFrom = async (target: FaultTarget, concerns: Concerns) => {
    const found = await find(target);
    if (found === undefined || !(await concerns(found.fault))) return undefined;
    const isTaken = (await fromStore(redis.eval(COUNT_OFF, 1, key(target), found.id))) === 1;
    return isTaken ? found.fault : undefined;
  };

  return {
    async set({ route, calls }, fields) {
      const hash = { id: newSecret(), fields: JSON.stringify(fields), left: calls ?? 0 };
      const both = redis.multi().hset(key(route), hash).expire(key(route), FAULT_SECONDS);
      await fromStore(both.exec().then(requireDone));
    },
    async clear(route) {
      const routes = route === undefined ? FAULT_TARGETS : [route];
      await Promise.all(routes.map((one) => fromStore(redis.del(key(one)))));
    },
    async list() {
      const found = await Promise.all(FAULT_TARGETS.map(find));
      return found.flatMap((one) => {
        if (one === undefined) return [];
        return [
          one.fault.calls === undefined ? { fault: one.fault } : { fault: one.fault, callsLeft: one.left },
        ];
      });
    },
    async take(route, concerns) {
      return (await takeFrom(route, concerns)) ?? takeFrom('any', concerns);
    },
  };
}

/** A transaction resolves even where a command of it has failed. */
function requireDone(results: readonly [Error | null, unknown][] | null): void {
  if (results === null) throw new Error('the transaction was not carried out');
  for (const [error] of results) if (error !== null) throw error;
}
