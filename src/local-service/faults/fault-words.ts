import type { FaultKind, FaultTarget } from './fault.ts';
import type { ActiveFault } from './fault-store.ts';

/** The routes as the faults' page says them. */
export const ROUTE_WORDS: Readonly<Record<FaultTarget, string>> = {
  authorization: 'Sign-in and consent',
  token: 'Token endpoint',
  workspaces: 'List of workspaces',
  workspace: 'One workspace',
  rooms: 'Rooms of a workspace',
  murals: 'Murals of a workspace',
  any: 'Every route without a fault of its own',
};

/** The faults as their page says them. */
export const KIND_WORDS: Readonly<Record<FaultKind, string>> = {
  latency: 'Only late',
  status: 'A status and a body of your own',
  'rate-limit': '429, rate limit reached',
  'reset-before': 'Connection reset, nothing was done',
  'reset-after': 'Connection reset after the work was done',
  cut: 'Answer cut off in the middle',
  'access-token-revoked': 'The call’s access token is revoked',
  'grant-revoked': 'All tokens of the sign-in are revoked',
  'next-expired': 'The call’s next token has expired',
};

/** An active fault as the page says it. */
export interface FaultWords {
  readonly route: FaultTarget;
  readonly where: string;
  readonly what: string;
  /** How long it goes on. */
  readonly until: string;
}

/** A fault in the words of the page. */
export function toFaultWords({ fault, callsLeft }: ActiveFault): FaultWords {
  const { route, kind, latencyMs } = fault;
  const details = [
    ...(kind === 'status' ? [`status ${fault.status}`] : []),
    ...(kind === 'rate-limit' ? [`Retry-After ${fault.retryAfter} s`] : []),
    ...(latencyMs > 0 ? [`after ${latencyMs} ms`] : []),
  ];
  return {
    route,
    where: ROUTE_WORDS[route],
    what: [KIND_WORDS[kind], ...details].join(', '),
    until:
      callsLeft === undefined ? 'until cleared' : `${callsLeft} more ${callsLeft === 1 ? 'call' : 'calls'}`,
  };
}
