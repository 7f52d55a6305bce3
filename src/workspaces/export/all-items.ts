import { SessionEndedError } from '../../errors.ts';
import type { SessionStore } from '../../session/store.ts';
import { createLoopGuard } from '../loop-guard.ts';
import { isExpiredToken, toUnreadableAnswer } from '../service-errors.ts';
import type { AskPage, ListSource, ServicePage } from '../service-pages.ts';
import { createItemTrail } from './item-trail.ts';
import type { ItemTrail } from './item-trail.ts';
import { elementsOf, membersOf, toOneLine } from './json.ts';
import { withPatience } from './patience.ts';
import type { Wait } from './patience.ts';

/**
 * All items of a list from the first on, page by page, each item as JSON text on one line. A page is asked for when the one
 * before it has been taken. Throws an AppError, or the signal's reason; what was given until then is not the whole list.
 */
export type WholeList = (source: Omit<ListSource, 'limit'>) => AsyncGenerator<readonly string[], void>;

/** The most that a list gives at a time (service interface, section 2). */
const LIMIT = 100;
/** A list that has no end by then has none: a million items. */
const MOST_CALLS = 10_000;
/** So many walks in a row may end at an expired token without an item that is new. */
const MOST_IDLE_WALKS = 3;

/** `wait` is what a pause that the service asks for is spent with. */
export function createWholeList(deps: {
  readonly readList: (source: ListSource) => AskPage;
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly wait: Wait;
}): WholeList {
  /**
   * Each page is asked for on its own: with the session as it stands then, so that a sign-out ends the export and any
   * number of renewals does not. Null where the token has expired.
   */
  const createAsk = (source: Parameters<WholeList>[0]) => {
    const list = { ...source, limit: LIMIT };
    let calls = 0;

    const askLater = async (next: string | undefined): Promise<ServicePage | null> => {
      const ticket = await deps.sessions.read(source.ticket.id, source.notes);
      if (ticket === null) throw new SessionEndedError();
      return deps
        .readList({ ...list, ticket })(next)
        .catch(unlessExpired(next));
    };
    return async (next: string | undefined): Promise<ServicePage | null> => {
      calls += 1;
      // Whoever waits for the first page sees an error page instead, and can judge it.
      if (calls === 1) return deps.readList(list)(next);
      if (calls > MOST_CALLS) throw toUnreadableAnswer('the list does not come to an end');
      return withPatience(async () => askLater(next), deps.wait, source.signal);
    };
  };

  return async function* wholeList(source) {
    const ask = createAsk(source);
    const given = createItemTrail();
    let idleWalks = 0;
    do {
      const { length } = given;
      if ((yield* walk(ask, given)) === 'end') return;
      idleWalks = given.length > length ? 0 : idleWalks + 1;
    } while (idleWalks < MOST_IDLE_WALKS);
    throw toUnreadableAnswer('the tokens of the list expire before the list ends');
  };
}

/**
 * Goes through the list from its first page on, and gives what comes after the items that were given before: these must
 * be the same as then, or something would be doubled or missing.
 */
async function* walk(
  ask: (next: string | undefined) => Promise<ServicePage | null>,
  given: ItemTrail,
): AsyncGenerator<readonly string[], 'end' | 'expired'> {
  const known = { length: given.length, digest: given.digest() };
  const passed = createItemTrail();
  const isPast = () => passed.length === known.length;
  const noLoop = createLoopGuard();
  let next: string | undefined;
  do {
    const page = await ask(next);
    if (page === null) return 'expired';
    ({ next } = page);
    noLoop(next);
    const items = itemsOf(page);
    const fresh = items.slice(known.length - passed.length);
    for (const item of items.slice(0, known.length - passed.length)) passed.add(item);
    if (isPast() && passed.digest() !== known.digest) throw toChangedList();
    for (const item of fresh) given.add(item);
    yield fresh;
  } while (next !== undefined);
  if (!isPast()) throw toChangedList();
  return 'end';
}

function itemsOf({ text }: ServicePage): string[] {
  return elementsOf(membersOf(text).get('value') ?? '[]').map(toOneLine);
}

/** The first page is asked for without a token: nothing of it can have expired. */
function unlessExpired(next: string | undefined) {
  return (error: unknown): null => {
    if (next !== undefined && isExpiredToken(error)) return null;
    throw error;
  };
}

function toChangedList(): Error {
  return toUnreadableAnswer('the list has changed since its first pages were sent');
}
