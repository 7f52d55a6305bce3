import type { ServerResponse } from 'node:http';
import { tenths } from '../platform/durations.ts';

/** The parts of a call that are timed. */
export type CallPart = 'session' | 'token' | 'service';

/** What the parts of a call have taken so far, in ms; a part that was not reached took no time. */
export interface CallTimes extends Record<CallPart, number> {
  /** The call has waited for a token to be renewed, and got it. */
  renewed: boolean;
  /** It was sent once more, with that token. */
  replayed: boolean;
}

const TIMES = Symbol('call times');

/** Begins to count what the parts of a call take, beside its answer: so that whoever answers can tell. */
export function countTimes(res: ServerResponse & { [TIMES]?: CallTimes }): CallTimes {
  return (res[TIMES] = noTimes());
}

/** `Server-Timing` for an answer that somebody else than the gateway writes. One to what never became a call took no time. */
export function serverTimingOf({ [TIMES]: times }: ServerResponse & { [TIMES]?: CallTimes }): string {
  return toServerTiming(times ?? noTimes());
}

/** The value of `Server-Timing` (W3C), to a tenth of a millisecond; with a `desc` where something unusual happened. */
export function toServerTiming({ session, token, service, renewed, replayed }: CallTimes): string {
  const times = `session;dur=${tenths(session)}, token;dur=${tenths(token)}`;
  const last = `service;dur=${tenths(service)}`;
  if (!renewed) return `${times}, ${last}`; // what is replayed was renewed
  return `${times};desc=renewed, ${last}${replayed ? ';desc=replayed' : ''}`;
}

function noTimes(): CallTimes {
  return { session: 0, token: 0, service: 0, renewed: false, replayed: false };
}
