/** What the parts of a call have taken so far, in ms; a part that was not reached took no time. */
export interface CallTimes {
  session: number;
  token: number;
  service: number;
}

/** The value of `Server-Timing` (W3C), to a tenth of a millisecond. */
export function toServerTiming({ session, token, service }: CallTimes): string {
  return `session;dur=${tenths(session)}, token;dur=${tenths(token)}, service;dur=${tenths(service)}`;
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
