import type { FaultKind, FaultTarget } from './fault.ts';
import type { ActiveFault } from './fault-store.ts';

/** The routes as the faults' page says them. */
export const ROUTE_WORDS: Readonly<Record<FaultTarget, string>> = {
  authorization: 'Sign-in and consent pages',
  token: 'Token endpoint',
  workspaces: 'List of workspaces',
  workspace: 'One workspace',
  rooms: 'Rooms of a workspace',
  murals: 'Murals of a workspace',
  any: 'Everything without a fault of its own',
};

/** The faults as their page says them. */
export const KIND_WORDS: Readonly<Record<FaultKind, string>> = {
  latency: 'Late, and nothing else',
  status: 'A status of your own',
  'rate-limit': '429, rate limit reached',
  'reset-before': 'Connection reset, nothing was done',
  'reset-after': 'Connection reset after the work was done',
  cut: 'Answer cut off in the middle',
  'access-token-revoked': 'Access token revoked, for good',
  'grant-revoked': 'All tokens of the session revoked, for good',
  'next-expired': 'The call’s next token has expired',
};

const SHOWN_OF_A_BODY = 80;

/** An active fault as the page says it. */
export interface FaultWords {
  readonly route: FaultTarget;
  readonly where: string;
  readonly what: string;
  /** The beginning of the body that calls are answered with. */
  readonly body?: string;
  /** How long it goes on. */
  readonly until: string;
}

/** A fault in the words of the page. */
export function toFaultWords({ fault, callsLeft }: ActiveFault): FaultWords {
  const { route, kind, latencyMs } = fault;
  const details = [
    ...(kind === 'status' ? [String(fault.status)] : []),
    ...(kind === 'status' && fault.contentType !== undefined ? [fault.contentType] : []),
    ...(kind === 'rate-limit' ? [`Retry-After ${fault.retryAfter} s`] : []),
    ...(latencyMs > 0 ? [`after ${latencyMs} ms`] : []),
  ];
  return {
    route,
    where: ROUTE_WORDS[route],
    what: [KIND_WORDS[kind], ...details].join(', '),
    ...(kind === 'status' && fault.body !== undefined && { body: toExcerpt(fault.body) }),
    until: callsLeft === undefined ? 'until cleared' : toCalls(callsLeft),
  };
}

function toExcerpt(body: string): string {
  return body.length > SHOWN_OF_A_BODY ? `${body.slice(0, SHOWN_OF_A_BODY)}…` : body;
}

function toCalls(count: number): string {
  return `${count.toLocaleString('en')} more ${count === 1 ? 'call' : 'calls'}`;
}
