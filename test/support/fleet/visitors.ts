import { setTimeout as delay } from 'node:timers/promises';
import { ACCEPT_HTML } from '../constants.ts';
import { call, startLoad } from './calls.ts';
import type { Answer, CallOptions } from './calls.ts';
import type { Entered, Fleet } from './fleet.ts';

/** Whatever needs Redis, but for signing out, which can be done only once. */
const REQUESTS = {
  api: {},
  page: { path: '/workspaces', headers: ACCEPT_HTML },
  status: { path: '/auth/session' },
  login: { path: '/auth/login', headers: ACCEPT_HTML },
  callback: { path: '/auth/callback?state=unknown&code=unknown', headers: ACCEPT_HTML },
} satisfies Record<string, CallOptions>;

export type Errand = keyof typeof REQUESTS;

export const ERRANDS = Object.keys(REQUESTS) as Errand[];

/** What came of an errand. */
interface Visit {
  readonly errand: Errand;
  /** By performance.now(). */
  readonly began: number;
  readonly answer: Answer;
}

/** One person who comes to every process again and again, beside what a test does to the testApp. */
export interface Visitor {
  /** Those that have been answered so far. */
  readonly visits: Visit[];
  /** Resolves with the first answer, of this status if one is named, to an errand that began from now on. */
  next(errand: Errand, status?: number): Promise<Answer>;
  /** Lets those under way finish. */
  stop(): Promise<void>;
}

/** Sends somebody on these errands, all of them unless told otherwise, each ten times a second at most. */
export function startVisitor(
  fleet: Fleet,
  { cookie }: Entered,
  errands: readonly Errand[] = ERRANDS,
): Visitor {
  const visits: Visit[] = [];
  const waiting = new Set<(visit: Visit) => void>();
  const { processes } = fleet;
  const loads = errands.map((errand) =>
    startLoad(processes.length, async (count) => {
      await delay(100);
      const began = performance.now();
      const { url = '' } = processes[count % processes.length] ?? {};
      const answer = await call(url, `${cookie}; ${ATTEMPT_COOKIE}`, REQUESTS[errand]);
      const visit = { errand, began, answer };
      visits.push(visit);
      for (const look of waiting) look(visit);
      return answer;
    }),
  );

  return {
    visits,
    next: async (errand, status) => {
      const from = performance.now();
      return new Promise((resolve) => {
        const look = (visit: Visit) => {
          if (visit.errand !== errand || visit.began < from) return;
          if (status !== undefined && visit.answer.status !== status) return;
          waiting.delete(look);
          resolve(visit.answer);
        };
        waiting.add(look);
      });
    },
    async stop() {
      await Promise.all(loads.map(async (load) => load.stop()));
    },
  };
}

/** Without it nobody looks for an attempt in Redis. */
const ATTEMPT_COOKIE = `cloakroom-signin-x=${'a'.repeat(43)}`;
