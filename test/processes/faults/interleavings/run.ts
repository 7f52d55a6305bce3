import { keyBesideSession, sessionKey as keyOfSession } from '../../../../src/session/store.ts';
import { TOKEN_PATH } from '../../../support/constants.ts';
import type { FleetResponse } from '../../../support/fleet/requests.ts';
import type { Cloakroom } from '../../../support/fleet/cloakroom.ts';
import type { Fleet } from '../../../support/fleet/fleet.ts';
import { createBarrier, holdResponse, type Barrier } from '../../../support/fleet/barrier.ts';
import type { RedisProxy } from '../../../support/fleet/redis-proxy.ts';
import { BARRIERS, type BarrierName, type Model, type SessionModel } from './model.ts';
import { createTokenLedger, type TokenLedger } from './token-ledger.ts';

/** The script that notes, under the lock, that a token request will be sent. */
const NOTES_UNDER_LOCK = /refresh-lock:[^]*"state":"open"/;

/** The results of all runs. */
export interface History {
  runs: number;
  readonly responses: FleetResponse[];
  /** Sessions that were lost though nothing has ended them. */
  readonly lost: Set<SessionModel>;
  /** Where a holder was stopped while another process sent the token request. */
  readonly takenOver: (BarrierName | 'lock reply')[];
}

/** One run: a fleet of two processes, and the requests in flight. */
export interface Run {
  readonly fleet: Fleet;
  readonly model: Model;
  /** Whether the service gives a new refresh token for each that it takes. */
  readonly rotates: boolean;
  readonly barriers: Readonly<Record<BarrierName, Barrier>>;
  /** Holds the reply of Redis that confirms the lock, before the token request. */
  readonly lockReply: Barrier;
  readonly ledger: TokenLedger;
  /** Requests without a response so far. */
  readonly inFlight: Set<Promise<FleetResponse>>;
  readonly killed: Set<Cloakroom>;
  /** Process ids, one for each time that a process was stopped. */
  readonly standstills: number[];
  readonly history: History;
  /** Observations that the model does not allow. */
  readonly violations: string[];
}

/** Starts a run, which adds to the history. */
export function startRun(
  fleet: Fleet,
  line: RedisProxy,
  model: Model,
  rotates: boolean,
  history: History,
): Run {
  const lockReply = createBarrier();
  line.replies = { to: NOTES_UNDER_LOCK, barrier: lockReply };
  const violations: string[] = [];
  const killed = new Set<Cloakroom>();
  const run: Run = {
    fleet,
    model,
    rotates,
    history,
    violations,
    killed,
    lockReply,
    standstills: [],
    inFlight: new Set(),
    barriers: Object.fromEntries(BARRIERS.map((name) => [name, createBarrier()])) as Record<
      BarrierName,
      Barrier
    >,
    ledger: createTokenLedger({
      model,
      rotates,
      report: (why) => violations.push(why),
      hasKilled: () => killed.size > 0,
      isStopped: (pid) => model.stopped !== null && fleet.processes[model.stopped]?.pid === pid,
      standing: async ({ stored }) => (await fleet.store.peek(stored.id))?.session.record.grant ?? null,
    }),
  };
  history.runs += 1;
  interceptService(run);
  return run;
}

/** Passes every request of Cloakroom through the barriers, and records token requests. */
function interceptService({ fleet, model, barriers, ledger }: Run): void {
  fleet.service.intercept = async (req, res, refreshToken) => {
    if (req.url !== TOKEN_PATH) {
      ledger.use((req.headers.authorization ?? '').replace(/^Bearer /, ''));
      await barriers['api request'].pass();
      holdResponse(res, barriers['api response']);
      return false;
    }
    const presentation = ledger.present(refreshToken ?? '', res, pidOf(req.headers['traceparent']));
    await ledger.checkNeed(presentation);
    await barriers['token request'].pass();
    holdResponse(res, barriers['token response'], (status, body) =>
      ledger.response(presentation, status, body),
    );
    if (!model.tokenEndpointFails) return false;
    res.statusCode = 500;
    res.end('it fails');
    return true;
  };
}

/** A trace id that names a process: the trace of a call goes on to the token request that is made for it. */
export function traceOf({ pid }: Cloakroom): string {
  return `00-${pid.toString(16).padStart(32, '0')}-${'1'.repeat(16)}-01`;
}
const pidOf = (traceparent: unknown) => parseInt(String(traceparent).split('-')[1] ?? '', 16);

/** The process in a slot, or the other one while that is stopped. */
export function processAt({ fleet, model }: Run, slot: number): Cloakroom {
  const found = fleet.processes[model.stopped === slot ? 1 - slot : slot];
  if (found === undefined) throw new Error(`no process stands at ${slot}`);
  return found;
}

export function sessionKey({ stored }: SessionModel): string {
  return keyOfSession('cloakroom:', stored.id);
}

/** The owner of the refresh lock, `cooling` after a failed refresh, or null. */
export async function lockOwner({ fleet }: Run, { stored }: SessionModel): Promise<string | null> {
  return fleet.redis.get(keyBesideSession('cloakroom:', 'refresh-lock', stored.id));
}
