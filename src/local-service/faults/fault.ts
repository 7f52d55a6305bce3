/** Where a call can go wrong, by the name that fault switches use. */
const FAULT_ROUTES = ['authorization', 'token', 'workspaces', 'workspace', 'rooms', 'murals'] as const;
export type FaultRoute = (typeof FAULT_ROUTES)[number];

/** `any` stands for every route that has no fault of its own. */
export const FAULT_TARGETS = [...FAULT_ROUTES, 'any'] as const;
export type FaultTarget = (typeof FAULT_TARGETS)[number];

export const FAULT_KINDS = [
  'latency',
  'status',
  'rate-limit',
  'reset-before',
  'reset-after',
  'cut',
  'access-token-revoked',
  'grant-revoked',
  'next-expired',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** What every fault has. */
interface AnyFault {
  readonly route: FaultTarget;
  /** How many calls meet it; undefined until it is cleared. */
  readonly calls?: number;
  /** Milliseconds that pass before anything else. */
  readonly latencyMs: number;
}

/** An answer in place of the endpoint's. */
interface StatusFault extends AnyFault {
  readonly kind: 'status';
  readonly status: number;
  readonly body?: string;
  readonly contentType?: string;
}

interface RateLimitFault extends AnyFault {
  readonly kind: 'rate-limit';
  /** Seconds. */
  readonly retryAfter: number;
}

interface PlainFault extends AnyFault {
  readonly kind: Exclude<FaultKind, 'status' | 'rate-limit'>;
}

/** What goes wrong with the calls of a route. */
export type Fault = StatusFault | RateLimitFault | PlainFault;

const LISTS: readonly FaultTarget[] = ['workspaces', 'rooms', 'murals', 'any'];
const CALLS_OF_THE_API: readonly FaultTarget[] = [...LISTS, 'workspace'];

interface FaultRules {
  /** The fields that only it takes. */
  readonly fields?: readonly string[];
  readonly required?: readonly string[];
  /** The routes on which it means something. */
  readonly routes?: readonly FaultTarget[];
}

/** What a fault takes beside what every one does, and where it may be. */
export const FAULT_RULES: Readonly<Record<FaultKind, FaultRules>> = {
  latency: { required: ['latencyMs'] },
  status: { fields: ['status', 'body', 'contentType'], required: ['status'] },
  'rate-limit': { fields: ['retryAfter'] },
  'reset-before': {},
  'reset-after': {},
  cut: {},
  'access-token-revoked': { routes: CALLS_OF_THE_API },
  'grant-revoked': { routes: [...CALLS_OF_THE_API, 'token'] },
  'next-expired': { routes: LISTS },
};

/** Whether a fault of this kind means anything on a route. */
export function isKindOf(route: FaultTarget, kind: FaultKind): boolean {
  return FAULT_RULES[kind].routes?.includes(route) !== false;
}
