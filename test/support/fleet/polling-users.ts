import { setTimeout as delay } from 'node:timers/promises';
import { ACCEPT_HTML } from '../constants.ts';
import { send, startLoad } from './requests.ts';
import type { FleetResponse, RequestOptions } from './requests.ts';
import type { TestSession, Fleet } from './fleet.ts';

/** Every request that needs Redis, except sign-out, which succeeds only once. */
const REQUESTS = {
  api: {},
  page: { path: '/workspaces', headers: ACCEPT_HTML },
  status: { path: '/auth/session' },
  login: { path: '/auth/login', headers: ACCEPT_HTML },
  callback: { path: '/auth/callback?state=unknown&code=unknown', headers: ACCEPT_HTML },
} satisfies Record<string, RequestOptions>;

export type UserRequest = keyof typeof REQUESTS;

export const USER_REQUESTS = Object.keys(REQUESTS) as UserRequest[];

interface Visit {
  readonly request: UserRequest;
  /** By performance.now(). */
  readonly began: number;
  readonly response: FleetResponse;
}

/** A user who sends requests to every process again and again while a test injects faults. */
export interface PollingUser {
  /** The requests that have a response so far. */
  readonly visits: Visit[];
  /** Resolves with the first response, of this status if given, to a request that begins from now on. */
  next(request: UserRequest, status?: number): Promise<FleetResponse>;
  /** Lets requests in progress finish. */
  stop(): Promise<void>;
}

/** Starts to send these requests, each ten times a second at most. */
export function startPollingUser(
  fleet: Fleet,
  { cookie }: TestSession,
  requests: readonly UserRequest[] = USER_REQUESTS,
): PollingUser {
  const visits: Visit[] = [];
  const waiting = new Set<(visit: Visit) => void>();
  const { processes } = fleet;
  const loads = requests.map((request) =>
    startLoad(processes.length, async (count) => {
      await delay(100);
      const began = performance.now();
      const { url = '' } = processes[count % processes.length] ?? {};
      const response = await send(url, `${cookie}; ${ATTEMPT_COOKIE}`, REQUESTS[request]);
      const visit = { request, began, response };
      visits.push(visit);
      for (const look of waiting) look(visit);
      return response;
    }),
  );

  return {
    visits,
    next: async (request, status) => {
      const from = performance.now();
      return new Promise((resolve) => {
        const look = (visit: Visit) => {
          if (visit.request !== request || visit.began < from) return;
          if (status !== undefined && visit.response.status !== status) return;
          waiting.delete(look);
          resolve(visit.response);
        };
        waiting.add(look);
      });
    },
    async stop() {
      await Promise.all(loads.map(async (load) => load.stop()));
    },
  };
}

/** Without this cookie, Cloakroom does not look for a sign-in transaction in Redis. */
const ATTEMPT_COOKIE = `cloakroom-signin-x=${'a'.repeat(43)}`;
