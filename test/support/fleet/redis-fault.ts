import { setTimeout as delay } from 'node:timers/promises';
import { ACCEPT_HTML } from '../constants.ts';
import { eventually } from '../eventually.ts';
import { startStopwatch } from '../stopwatch.ts';
import type { Fleet, TestSession } from './fleet.ts';
import { send, signOut, startLoad, type FleetResponse, type RequestOptions } from './requests.ts';

/** All requests that need Redis, except sign-out, which succeeds only once. */
const REQUESTS = {
  api: {},
  page: { path: '/workspaces', headers: ACCEPT_HTML },
  status: { path: '/auth/session' },
  login: { path: '/auth/login', headers: ACCEPT_HTML },
  callback: { path: '/auth/callback?state=unknown&code=unknown', headers: ACCEPT_HTML },
} satisfies Record<string, RequestOptions>;

type UserRequest = keyof typeof REQUESTS;

const USER_REQUESTS = Object.keys(REQUESTS) as UserRequest[];

/** Without this cookie, Cloakroom does not look up a sign-in transaction in Redis. */
const SIGN_IN_COOKIE = `cloakroom-signin-x=${'a'.repeat(43)}`;

interface Exchange {
  readonly request: UserRequest;
  /** The start time in ms, measured with performance.now(). */
  readonly startedAt: number;
  readonly response: FleetResponse;
}

/** A user who keeps sending requests to every process while a test injects faults. */
export type PollingUser = ReturnType<typeof startPollingUser>;

/** Starts sending these requests, each at most ten times a second per process. */
export function startPollingUser(
  { processes }: Fleet,
  { cookie }: TestSession,
  requests: readonly UserRequest[] = USER_REQUESTS,
) {
  const exchanges: Exchange[] = [];
  const listeners = new Set<(exchange: Exchange) => void>();
  const loads = requests.map((request) =>
    startLoad(processes.length, async (count) => {
      await delay(100);
      const startedAt = performance.now();
      const { url = '' } = processes[count % processes.length] ?? {};
      const response = await send(url, `${cookie}; ${SIGN_IN_COOKIE}`, REQUESTS[request]);
      const exchange = { request, startedAt, response };
      exchanges.push(exchange);
      for (const listener of listeners) listener(exchange);
      return response;
    }),
  );

  return {
    /** The requests that have received a response so far. */
    exchanges,
    /** Resolves with the first response to a request that starts after this call. If given, `status` must match. */
    next: async (request: UserRequest, status?: number) => {
      const from = performance.now();
      return new Promise<FleetResponse>((resolve) => {
        const listener = (exchange: Exchange) => {
          if (exchange.request !== request || exchange.startedAt < from) return;
          if (status !== undefined && exchange.response.status !== status) return;
          listeners.delete(listener);
          resolve(exchange.response);
        };
        listeners.add(listener);
      });
    },
    /** Stops sending and waits for the requests in flight. */
    async stop() {
      await Promise.all(loads.map(async (load) => load.stop()));
    },
  };
}

/** A fault in Cloakroom's Redis. */
export interface RedisFault {
  readonly begin: () => void | Promise<void>;
  readonly end: () => void | Promise<void>;
}

/** An `expired` request is an API request with an expired access token. No other request has an expired token. */
type ObservedRequest = UserRequest | 'expired' | 'logout' | 'readyz' | 'healthz';

/** The responses that users received from every process before, during and after a fault. */
export interface ObservedFault {
  /** Responses to requests that were sent and finished during the fault. */
  readonly during: Readonly<Record<ObservedRequest, readonly FleetResponse[]>>;
  /** All responses received before, during and after the fault. */
  readonly responses: readonly FleetResponse[];
  /** The sessions of the users who sent the requests. The user of `signedOut` signed out during the fault. */
  readonly sessions: Readonly<Record<'unexpired' | 'expired' | 'signedOut', TestSession>>;
  /** The time from the end of the fault until a later request gets its normal response. */
  readonly recoveredInMs: Readonly<Record<UserRequest | 'expired' | 'readyz', number>>;
}

/** The minimum duration of a fault. The fault also lasts until each kind of request has received a response. */
const MIN_FAULT_MS = 500;

/** Injects a fault into a fleet under load, ends the fault, and waits until the fleet has recovered. */
export async function observeFault(fleet: Fleet, { begin, end }: RedisFault): Promise<ObservedFault> {
  const sessions = {
    unexpired: await fleet.createSession('unexpired'),
    expired: await fleet.createSession('expired', { expiresAt: 0 }),
    signedOut: await fleet.createSession('signed-out'),
  };
  const sendToAll = async (sendTo: (url: string) => Promise<FleetResponse>) =>
    Promise.all(fleet.processes.map(async ({ url }) => sendTo(url)));
  const getReadyz = async () => sendToAll(async (url) => send(url, '', { path: '/readyz' }));

  const before = startPollingUser(fleet, sessions.unexpired);
  await before.next('api', 200);
  await begin();
  const user = startPollingUser(fleet, sessions.unexpired);
  const expiredUser = startPollingUser(fleet, sessions.expired, ['api']);
  const [logout, readyz, healthz] = await Promise.all([
    sendToAll(async (url) => signOut(url, sessions.signedOut.cookie, { accept: 'text/html' })),
    getReadyz(),
    sendToAll(async (url) => send(url, '', { path: '/healthz' })),
    delay(MIN_FAULT_MS),
    expiredUser.next('api'),
    ...USER_REQUESTS.map(async (request) => user.next(request)),
  ]);
  const responsesTo = (request: UserRequest, { exchanges }: PollingUser = user) =>
    exchanges.filter((exchange) => exchange.request === request).map(({ response }) => response);
  const during = {
    api: responsesTo('api'),
    page: responsesTo('page'),
    status: responsesTo('status'),
    login: responsesTo('login'),
    callback: responsesTo('callback'),
    expired: responsesTo('api', expiredUser),
    logout,
    readyz,
    healthz,
  };

  await end();
  using over = startStopwatch();
  const timeUntil = async (event: Promise<unknown>) => event.then(() => over.ms());
  const allReady = async () => (await getReadyz()).every(({ status }) => status === 200);
  const [api, page, status, login, callback, expired, ready] = await Promise.all([
    timeUntil(user.next('api', 200)),
    timeUntil(user.next('page', 200)),
    timeUntil(user.next('status', 200)),
    timeUntil(user.next('login', 302)),
    timeUntil(user.next('callback', 303)),
    timeUntil(expiredUser.next('api', 200)),
    timeUntil(eventually(allReady)),
  ]);
  const users = [before, user, expiredUser];
  await Promise.all(users.map(async (each) => each.stop()));
  await untilConnected(fleet);
  return {
    during,
    sessions,
    responses: users.flatMap(({ exchanges }) => exchanges.map(({ response }) => response)),
    recoveredInMs: { api, page, status, login, callback, expired, readyz: ready },
  };
}

/** Resolves once the test's own connection to Redis works again. */
export async function untilConnected({ redis }: Fleet): Promise<void> {
  await eventually(async () => (await redis.ping().catch(() => '')) === 'PONG');
}
