import { keyBesideSession, sessionKey as keyOfSession } from '../../../../src/session/store.ts';
import { TOKEN_PATH } from '../../../support/constants.ts';
import type { FleetResponse } from '../../../support/fleet/requests.ts';
import type { Cloakroom } from '../../../support/fleet/cloakroom.ts';
import type { Fleet } from '../../../support/fleet/fleet.ts';
import { createBarrier, holdResponse, type Barrier } from '../../../support/fleet/barrier.ts';
import type { RedisProxy } from '../../../support/fleet/redis-proxy.ts';
import { GATES, type GateName, type Model, type SessionModel } from './model.ts';
import { createTokenLedger, type TokenLedger } from './token-ledger.ts';

/** The script that notes, under the lock, that a token request will be sent. */
const NOTES_UNDER_LOCK = /refresh-lock:[^]*"state":"open"/;

/** What has come of all runs. */
export interface History {
  runs: number;
  readonly responses: FleetResponse[];
  /** Sessions that are gone though nobody has ended them. */
  readonly lost: Set<SessionModel>;
  /** Where a holder stood still while another process sent the token request. */
  readonly takenOver: (GateName | 'lock reply')[];
}

/** The real side of one run: a fleet of two processes, and what is under way in it. */
export interface TestApp {
  readonly fleet: Fleet;
  readonly model: Model;
  /** Whether the service gives a new refresh token for each that it takes. */
  readonly rotates: boolean;
  readonly gates: Readonly<Record<GateName, Barrier>>;
  /** Where Redis’s word stands that a holder has the lock and may send its token request. */
  readonly lockReply: Barrier;
  readonly ledger: TokenLedger;
  /** Calls that are not answered yet. */
  readonly underWay: Set<Promise<FleetResponse>>;
  readonly killed: Set<Cloakroom>;
  /** Process ids, one for each time that a process has stood still. */
  readonly standstills: number[];
  readonly history: History;
  /** What was seen that is not allowed. */
  readonly complaints: string[];
}

/** A testApp for one run, which adds to the history; `line` is the fleet's way to Redis. */
export function openApp(
  fleet: Fleet,
  line: RedisProxy,
  model: Model,
  rotates: boolean,
  history: History,
): TestApp {
  const lockReply = createBarrier();
  line.replies = { to: NOTES_UNDER_LOCK, barrier: lockReply };
  const complaints: string[] = [];
  const killed = new Set<Cloakroom>();
  const testApp: TestApp = {
    fleet,
    model,
    rotates,
    history,
    complaints,
    killed,
    lockReply,
    standstills: [],
    underWay: new Set(),
    gates: Object.fromEntries(GATES.map((name) => [name, createBarrier()])) as Record<GateName, Barrier>,
    ledger: createTokenLedger({
      model,
      rotates,
      complain: (why) => complaints.push(why),
      hasKilled: () => killed.size > 0,
      isStopped: (pid) => model.stopped !== null && fleet.processes[model.stopped]?.pid === pid,
      standing: async ({ entered }) => (await fleet.store.peek(entered.id))?.session.record.grant ?? null,
    }),
  };
  history.runs += 1;
  standBeforeService(testApp);
  return testApp;
}

/** Every request of Cloakroom's passes the gates and is written down. */
function standBeforeService({ fleet, model, gates, ledger }: TestApp): void {
  fleet.service.intercept = async (req, res, refreshToken) => {
    if (req.url !== TOKEN_PATH) {
      ledger.use((req.headers.authorization ?? '').replace(/^Bearer /, ''));
      await gates['api question'].pass();
      holdResponse(res, gates['api response']);
      return false;
    }
    const presentation = ledger.present(refreshToken ?? '', res, pidOf(req.headers['traceparent']));
    await ledger.judgeNeed(presentation);
    await gates['token question'].pass();
    holdResponse(res, gates['token response'], (status, body) => ledger.response(presentation, status, body));
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

/** The process that stands at a place now, or the other one while that stands still. */
export function processAt({ fleet, model }: TestApp, slot: number): Cloakroom {
  const found = fleet.processes[model.stopped === slot ? 1 - slot : slot];
  if (found === undefined) throw new Error(`no process stands at ${slot}`);
  return found;
}

/** Where its record stands in Redis. */
export function sessionKey({ entered }: SessionModel): string {
  return keyOfSession('cloakroom:', entered.id);
}

/** Who holds the lock of its renewal: the owner's name, `cooling` after one that failed, or null. */
export async function lockOwner({ fleet }: TestApp, { entered }: SessionModel): Promise<string | null> {
  return fleet.redis.get(keyBesideSession('cloakroom:', 'refresh-lock', entered.id));
}
