import { fromStore } from '../platform/redis.ts';
import type { RedisClient } from '../platform/redis.ts';
import { FAULT_TARGETS } from './fault.ts';
import type { Fault, FaultRoute, FaultTarget } from './fault.ts';
import { FAULT_SECONDS } from './lifetimes.ts';
import { newSecret, storeKey } from './secrets.ts';

/** A fault that calls still meet. */
export interface ActiveFault {
  readonly fault: Fault;
  /** Undefined until it is cleared. */
  readonly callsLeft?: number;
}

export interface FaultStore {
  /** Replaces whatever the same route had. */
  set(fault: Fault): Promise<void>;
  /** Without a route: all of them. */
  clear(route?: FaultTarget): Promise<void>;
  list(): Promise<ActiveFault[]>;
  /**
   * The fault that this call of a route meets, its own before that of `any`. A call that `concerns` says no to
   * uses none of the calls up.
   */
  take(route: FaultRoute, concerns: (fault: Fault) => boolean): Promise<Fault | undefined>;
}

/**
 * Counts a call off, unless the fault was replaced since it was read; deletes it with its last call. Where there is
 * no end, `left` starts at 0 and is never 0 again.
 */
const COUNT_OFF = `
  if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return 0 end
  if redis.call('HINCRBY', KEYS[1], 'left', -1) == 0 then redis.call('DEL', KEYS[1]) end
  return 1`;

/**
 * The faults, in Redis: over any number of processes exactly as many calls meet one as were asked for. Every method
 * rejects with StoreUnavailableError where Redis is away.
 */
export function createFaultStore(redis: RedisClient): FaultStore {
  const key = (route: FaultTarget) => storeKey('fault', route);

  const takeFrom = async (route: FaultTarget, concerns: (fault: Fault) => boolean) => {
    const { id, fault: text } = await fromStore(redis.hgetall(key(route)));
    if (id === undefined || text === undefined) return undefined;
    const fault = JSON.parse(text) as Fault;
    if (!concerns(fault)) return undefined;
    return (await fromStore(redis.eval(COUNT_OFF, 1, key(route), id))) === 1 ? fault : undefined;
  };

  return {
    async set(fault) {
      const fields = { id: newSecret(), fault: JSON.stringify(fault), left: fault.calls ?? 0 };
      await fromStore(
        redis.multi().hset(key(fault.route), fields).expire(key(fault.route), FAULT_SECONDS).exec(),
      );
    },
    async clear(route) {
      const routes = route === undefined ? FAULT_TARGETS : [route];
      await Promise.all(routes.map((one) => fromStore(redis.del(key(one)))));
    },
    async list() {
      const found = await Promise.all(FAULT_TARGETS.map((route) => fromStore(redis.hgetall(key(route)))));
      return found.flatMap(({ fault: text, left }) => {
        if (text === undefined) return [];
        const fault = JSON.parse(text) as Fault;
        return [fault.calls === undefined ? { fault } : { fault, callsLeft: Number(left) }];
      });
    },
    async take(route, concerns) {
      return (await takeFrom(route, concerns)) ?? takeFrom('any', concerns);
    },
  };
}
