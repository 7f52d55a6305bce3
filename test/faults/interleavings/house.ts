import { keyBesideSession, sessionKey as keyOfSession } from '../../../src/session/session-records.ts';
import { TOKEN_PATH } from '../../support/constants.ts';
import type { Answer } from '../../support/fleet/calls.ts';
import type { Cloakroom } from '../../support/fleet/cloakroom.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { createGate, holdAnswer } from '../../support/fleet/gates.ts';
import type { Gate } from '../../support/fleet/gates.ts';
import { GATES } from './model.ts';
import type { GateName, Model, SessionModel } from './model.ts';
import { createTokenLedger } from './token-ledger.ts';
import type { TokenLedger } from './token-ledger.ts';

/** What has come of all runs. */
export interface History {
  runs: number;
  readonly answers: Answer[];
  /** Sessions that are gone though nobody has ended them. */
  readonly lost: Set<SessionModel>;
}

/** The real side of one run: a fleet of two processes, and what is under way in it. */
export interface House {
  readonly fleet: Fleet;
  readonly model: Model;
  /** Whether the service gives a new refresh token for each that it takes. */
  readonly rotates: boolean;
  readonly gates: Readonly<Record<GateName, Gate>>;
  readonly ledger: TokenLedger;
  /** Calls that are not answered yet. */
  readonly underWay: Set<Promise<Answer>>;
  readonly killed: Set<Cloakroom>;
  readonly history: History;
  /** What was seen that is not allowed. */
  readonly complaints: string[];
}

/** A house for one run, which adds to the history. */
export function openHouse(fleet: Fleet, model: Model, rotates: boolean, history: History): House {
  const complaints: string[] = [];
  const killed = new Set<Cloakroom>();
  const house: House = {
    fleet,
    model,
    rotates,
    history,
    complaints,
    killed,
    underWay: new Set(),
    gates: Object.fromEntries(GATES.map((name) => [name, createGate()])) as Record<GateName, Gate>,
    ledger: createTokenLedger({
      model,
      rotates,
      complain: (why) => complaints.push(why),
      hasKilled: () => killed.size > 0,
      standing: async ({ entered }) => (await fleet.records.peek(entered.id))?.ticket.record.grant ?? null,
    }),
  };
  history.runs += 1;
  standBeforeService(house);
  return house;
}

/** Every request of Cloakroom's passes the gates and is written down. */
function standBeforeService({ fleet, model, gates, ledger }: House): void {
  fleet.service.intercept = async (req, res, refreshToken) => {
    if (req.url !== TOKEN_PATH) {
      ledger.use((req.headers.authorization ?? '').replace(/^Bearer /, ''));
      await gates['api question'].pass();
      holdAnswer(res, gates['api answer']);
      return false;
    }
    const presentation = ledger.present(refreshToken ?? '', res);
    await ledger.judgeNeed(presentation);
    await gates['token question'].pass();
    holdAnswer(res, gates['token answer'], (status, body) => ledger.answer(presentation, status, body));
    if (!model.tokenEndpointFails) return false;
    res.statusCode = 500;
    res.end('it fails');
    return true;
  };
}

/** The process that stands at a place now. */
export function processAt({ fleet }: House, slot: number): Cloakroom {
  const found = fleet.processes[slot];
  if (found === undefined) throw new Error(`no process stands at ${slot}`);
  return found;
}

/** Where its record stands in Redis. */
export function sessionKey({ entered }: SessionModel): string {
  return keyOfSession('cloakroom:', entered.id);
}

/** Who holds the lock of its renewal: the owner's name, `cooling` after one that failed, or null. */
export async function lockOwner({ fleet }: House, { entered }: SessionModel): Promise<string | null> {
  return fleet.redis.get(keyBesideSession('cloakroom:', 'renewal', entered.id));
}
