import type { ServerResponse } from 'node:http';

/** What the parts of a call have taken so far, in ms; a part that was not reached took no time. */
export interface CallTimes {
  session: number;
  token: number;
  service: number;
}

const TIMES = Symbol('call times');

/** Begins to count what the parts of a call take, beside its answer: so that whoever answers can tell. */
export function countTimes(res: ServerResponse & { [TIMES]?: CallTimes }): CallTimes {
  return (res[TIMES] = { session: 0, token: 0, service: 0 });
}

/** `Server-Timing` for an answer that somebody else than the gateway writes. One to what never became a call took no time. */
export function serverTimingOf({ [TIMES]: times }: ServerResponse & { [TIMES]?: CallTimes }): string {
  return toServerTiming(times ?? { session: 0, token: 0, service: 0 });
}

/** The value of `Server-Timing` (W3C), to a tenth of a millisecond. */
export function toServerTiming({ session, token, service }: CallTimes): string {
  return `session;dur=${tenths(session)}, token;dur=${tenths(token)}, service;dur=${tenths(service)}`;
}

/** Up to 100 ms, ready-made: to write a fraction costs as much as all else here. */
const TENTHS = Array.from({ length: 1_001 }, (_, at) => String(at / 10));

function tenths(ms: number): string {
  const at = Math.round(ms * 10);
  return TENTHS[at] ?? String(at / 10);
}
