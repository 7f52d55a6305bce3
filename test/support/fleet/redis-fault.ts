import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../eventually.ts';
import { startStopwatch } from '../stopwatch.ts';
import { send, signOut } from './requests.ts';
import type { FleetResponse } from './requests.ts';
import type { TestSession, Fleet } from './fleet.ts';
import { USER_REQUESTS, startPollingUser } from './polling-users.ts';
import type { UserRequest, PollingUser } from './polling-users.ts';

/** What befalls Cloakroom's Redis, and how it ends. */
export interface RedisFault {
  readonly begin: () => void | Promise<void>;
  readonly end: () => void | Promise<void>;
}

/** `spent` are API calls whose token has to be renewed first; the others come with a living one. */
type Asked = UserRequest | 'spent' | 'logout' | 'readyz' | 'healthz';

/** What was seen of a fault by people who came to every process before, during and after it. */
export interface ObservedFault {
  /** Answers to what began after the fault and was over before its end. */
  readonly during: Readonly<Record<Asked, readonly FleetResponse[]>>;
  /** All responses to requests from before the fault until after it. */
  readonly responses: readonly FleetResponse[];
  /** The users who sent them; the last one signed out. */
  readonly sessions: Readonly<Record<'living' | 'spent' | 'leaving', TestSession>>;
  /** From the end of the fault to the first response, begun after it, that is as if nothing had been; ms. */
  readonly recoveredInMs: Readonly<Record<UserRequest | 'spent' | 'readyz', number>>;
}

/** At least, until each request has a response of each process. */
const LASTS_MS = 500;

async function isThere({ redis }: Fleet): Promise<boolean> {
  return redis.ping().then(
    () => true,
    () => false,
  );
}

/** Lets it happen to a fleet under load. Where nothing works afterwards, only the test's time-out ends this. */
export async function observeFault(fleet: Fleet, { begin, end }: RedisFault): Promise<ObservedFault> {
  const sessions = {
    living: await fleet.createSession('living'),
    spent: await fleet.createSession('spent', { expiresAt: 0 }),
    leaving: await fleet.createSession('leaving'),
  };
  const askAll = async (ask: (url: string) => Promise<FleetResponse>) =>
    Promise.all(fleet.processes.map(async ({ url }) => ask(url)));
  const askReadyz = async () => askAll(async (url) => send(url, '', { path: '/readyz' }));

  const before = startPollingUser(fleet, sessions.living);
  await before.next('api', 200);
  await begin();
  const visitor = startPollingUser(fleet, sessions.living);
  const renewing = startPollingUser(fleet, sessions.spent, ['api']);
  const [logout, readyz, healthz] = await Promise.all([
    askAll(async (url) => signOut(url, sessions.leaving.cookie, { accept: 'text/html' })),
    askReadyz(),
    askAll(async (url) => send(url, '', { path: '/healthz' })),
    delay(LASTS_MS),
    renewing.next('api'),
    ...USER_REQUESTS.map(async (request) => visitor.next(request)),
  ]);
  const answersTo = (request: UserRequest, { visits }: PollingUser = visitor) =>
    visits.filter((visit) => visit.request === request).map(({ response }) => response);
  const during = {
    api: answersTo('api'),
    page: answersTo('page'),
    status: answersTo('status'),
    login: answersTo('login'),
    callback: answersTo('callback'),
    spent: answersTo('api', renewing),
    logout,
    readyz,
    healthz,
  };

  await end();
  using over = startStopwatch();
  const since = async (event: Promise<unknown>) => event.then(() => over.ms());
  const allReady = async () => (await askReadyz()).every(({ status }) => status === 200);
  const [api, page, status, login, callback, spent, ready] = await Promise.all([
    since(visitor.next('api', 200)),
    since(visitor.next('page', 200)),
    since(visitor.next('status', 200)),
    since(visitor.next('login', 302)),
    since(visitor.next('callback', 303)),
    since(renewing.next('api', 200)),
    since(eventually(allReady)),
  ]);
  const all = [before, visitor, renewing];
  await Promise.all(all.map(async (each) => each.stop()));
  await eventually(async () => isThere(fleet)); // the test's own connection
  return {
    during,
    sessions,
    responses: all.flatMap(({ visits }) => visits.map(({ response }) => response)),
    recoveredInMs: { api, page, status, login, callback, spent, readyz: ready },
  };
}
