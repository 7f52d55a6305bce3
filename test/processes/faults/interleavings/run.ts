import { sessionScopedKey } from '../../../../src/session/store.ts';
import { TOKEN_PATH } from '../../../support/constants.ts';
import type { FleetResponse } from '../../../support/fleet/requests.ts';
import type { Cloakroom } from '../../../support/fleet/cloakroom.ts';
import type { Fleet } from '../../../support/fleet/fleet.ts';
import { createBarrier, holdResponse, type Barrier } from '../../../support/fleet/barrier.ts';
import type { RedisProxy } from '../../../support/fleet/redis-proxy.ts';
import type { BarrierName, Model, SessionModel } from './model.ts';
import { createTokenLedger, type TokenLedger } from './token-ledger.ts';

/** Matches the script that creates the journal entry under the lock. */
const OPENS_ENTRY = /refresh-lock:[^]*"state":"open"/;

/** The results of all runs. */
export interface History {
  runs: number;
  readonly responses: FleetResponse[];
  /** Sessions that were lost although no event ended them. */
  readonly lost: Set<SessionModel>;
  /** The barriers at which a lock holder was stopped while another process sent the token request. */
  readonly takenOver: BarrierName[];
}

/** One run, with a fleet of two processes and the requests in flight. */
export interface Run {
  readonly fleet: Fleet;
  readonly model: Model;
  readonly rotates: boolean;
  readonly barriers: Readonly<Record<BarrierName, Barrier>>;
  readonly ledger: TokenLedger;
  /** Requests that have no response yet. */
  readonly inFlight: Set<Promise<FleetResponse>>;
  readonly killed: Set<Cloakroom>;
  /** The ids of the stopped processes, in the order in which they were stopped. */
  readonly stops: number[];
  readonly history: History;
  /** Observations that the model does not allow. */
  readonly violations: string[];
}

/** Starts a run that adds its results to the history. */
export function startRun(
  fleet: Fleet,
  proxy: RedisProxy,
  model: Model,
  rotates: boolean,
  history: History,
): Run {
  const violations: string[] = [];
  const killed = new Set<Cloakroom>();
  const run: Run = {
    fleet,
    model,
    rotates,
    history,
    violations,
    killed,
    stops: [],
    inFlight: new Set(),
    barriers: {
      'lock reply': createBarrier(),
      'token request': createBarrier(),
      'token response': createBarrier(),
      'api request': createBarrier(),
      'api response': createBarrier(),
    },
    ledger: createTokenLedger({
      model,
      rotates,
      report: (violation) => violations.push(violation),
      hasKilled: () => killed.size > 0,
      isStopped: (pid) => model.stopped !== null && fleet.processes[model.stopped]?.pid === pid,
      storedGrant: async ({ stored }) => fleet.storedGrant(stored),
    }),
  };
  history.runs += 1;
  proxy.holdReplies = { to: OPENS_ENTRY, barrier: run.barriers['lock reply'] };
  interceptService(run);
  return run;
}

/** Passes every request from Cloakroom through the barriers, and records token requests. */
function interceptService({ fleet, model, barriers, ledger }: Run): void {
  fleet.service.intercept = async (req, res, refreshToken) => {
    if (req.url !== TOKEN_PATH) {
      ledger.checkAccessToken((req.headers.authorization ?? '').replace(/^Bearer /, ''));
      await barriers['api request'].pass();
      holdResponse(res, barriers['api response']);
      return false;
    }
    const presentation = ledger.addTokenRequest(refreshToken ?? '', res, pidOf(req.headers['traceparent']));
    await ledger.checkNeed(presentation);
    await barriers['token request'].pass();
    holdResponse(res, barriers['token response'], (status, body) =>
      ledger.addResponse(presentation, status, body),
    );
    if (!model.tokenEndpointFails) return false;
    res.statusCode = 500;
    res.end('it fails');
    return true;
  };
}

/** Returns a `traceparent` that identifies a process. A token request carries the trace of the request that caused it. */
export function traceOf({ pid }: Cloakroom): string {
  return `00-${pid.toString(16).padStart(32, '0')}-${'1'.repeat(16)}-01`;
}
const pidOf = (traceparent: unknown) => parseInt(String(traceparent).split('-')[1] ?? '', 16);

/** Returns the process with this index, or the other process if this one is stopped. */
export function processAt({ fleet, model }: Pick<Run, 'fleet' | 'model'>, index: number): Cloakroom {
  return fleet.at(model.stopped === index ? 1 - index : index);
}

export function lockKey({ stored }: SessionModel): string {
  return sessionScopedKey('cloakroom:', 'refresh-lock', stored.id);
}
