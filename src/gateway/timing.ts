import { tenths } from '../http/access-log.ts';

/** The parts of a call that are timed. */
export type CallPart = 'session' | 'token' | 'service';

/** What the parts of a call have taken so far, in ms; a part that was not reached took no time. */
export interface CallTimes extends Record<CallPart, number> {
  /** The call has waited for a token to be renewed, and got it. */
  renewed: boolean;
  /** It was sent once more, with that token. */
  replayed: boolean;
}

/** Returns the times of a call that begins. */
export function countTimes(): CallTimes {
  return { session: 0, token: 0, service: 0, renewed: false, replayed: false };
}

/** The value of `Server-Timing` (W3C), to a tenth of a millisecond; with a `desc` where something unusual happened. */
export function toServerTiming({ session, token, service, renewed, replayed }: CallTimes): string {
  const times = `session;dur=${tenths(session)}, token;dur=${tenths(token)}`;
  const last = `service;dur=${tenths(service)}`;
  if (!renewed) return `${times}, ${last}`; // what is replayed was renewed
  return `${times};desc=renewed, ${last}${replayed ? ';desc=replayed' : ''}`;
}
