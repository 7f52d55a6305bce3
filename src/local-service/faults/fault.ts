import { z } from 'zod';
import { integer, oneOf } from '../../platform/variable-schemas.ts';

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

/** The fields of a form or a JSON object that ask for a fault, by name. */
export type FaultFields = Readonly<Record<string, string>>;

/** What a request to `/_faults` asks for. */
type FaultCommand =
  | { readonly kind: 'set'; readonly fault: Fault }
  /** Without a route: every fault. */
  | { readonly kind: 'clear'; readonly route?: FaultTarget };

type FaultReading =
  | { readonly command: FaultCommand }
  /** Each names the field that is wrong. */
  | { readonly problems: readonly string[] };

const LISTS: readonly FaultTarget[] = ['workspaces', 'rooms', 'murals', 'any'];
const CALLS_OF_THE_API: readonly FaultTarget[] = [...LISTS, 'workspace'];

interface KindRules {
  /** The fields that only it takes. */
  readonly fields?: readonly string[];
  readonly required?: readonly string[];
  /** The routes on which it means something. */
  readonly routes?: readonly FaultTarget[];
}

const RULES: Readonly<Record<FaultKind, KindRules>> = {
  latency: { required: ['latencyMs'] },
  status: { fields: ['status', 'body', 'contentType'], required: ['status'] },
  'rate-limit': { fields: ['retryAfter'] },
  'reset-before': {},
  'reset-after': {},
  cut: {},
  'access-token-revoked': { routes: CALLS_OF_THE_API },
  'grant-revoked': { routes: CALLS_OF_THE_API },
  'next-expired': { routes: LISTS },
};

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; *charset=[\w-]+)?$/; // RFC 9110 §8.3.1

const FIELDS = z.strictObject({
  route: oneOf(FAULT_TARGETS).optional(),
  fault: oneOf([...FAULT_KINDS, 'none']),
  calls: integer(1, 1_000_000).optional(),
  latencyMs: integer(0, 120_000).optional(),
  status: integer(200, 599).optional(),
  body: z.string().optional(),
  contentType: z.string().regex(MEDIA_TYPE, 'must be a media type such as text/html').optional(),
  retryAfter: integer(0, 86_400).optional(),
});
type Fields = z.output<typeof FIELDS>;

/**
 * Reads what the fields ask for; an empty one counts as absent. Every problem is told at once.
 */
export function readFaultCommand(fields: FaultFields): FaultReading {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
  const parsed = FIELDS.safeParse(given);
  if (!parsed.success) return { problems: parsed.error.issues.map(toProblem) };
  const { fault: kind, route } = parsed.data;
  if (kind === 'none') return { command: { kind: 'clear', ...(route !== undefined && { route }) } };
  const problems = [...misfits(kind, parsed.data)];
  const fault = toFault(kind, parsed.data);
  return problems.length > 0 || fault === undefined ? { problems } : { command: { kind: 'set', fault } };
}

/** Whether a fault of this kind means anything on a route. */
export function isKindOf(route: FaultTarget, kind: FaultKind): boolean {
  return RULES[kind].routes?.includes(route) !== false;
}

function toProblem(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `there is no field ${issue.keys.join(', ')}`;
  return `${issue.path.join('.')} ${issue.message}`;
}

function* misfits(kind: FaultKind, fields: Fields): Generator<string> {
  const { required = [], routes } = RULES[kind];
  for (const name of ['route', ...required]) {
    if (!Object.hasOwn(fields, name)) yield `${name} is missing`;
  }
  for (const [other, { fields: own = [] }] of Object.entries(RULES)) {
    if (other === kind) continue;
    for (const name of own) {
      if (Object.hasOwn(fields, name)) yield `${name} is for the fault ${other} only`;
    }
  }
  if (routes !== undefined && fields.route !== undefined && !routes.includes(fields.route)) {
    yield `route must be one of: ${routes.join(', ')} for the fault ${kind}`;
  }
}

/** Undefined where a field is missing. */
function toFault(kind: FaultKind, fields: Fields): Fault | undefined {
  const { route, calls, latencyMs = 0, status, body, contentType, retryAfter = 1 } = fields;
  if (route === undefined) return undefined;
  const fault = { route, latencyMs, ...(calls !== undefined && { calls }) };
  if (kind === 'rate-limit') return { ...fault, kind, retryAfter };
  if (kind !== 'status') return { ...fault, kind };
  if (status === undefined) return undefined;
  return {
    ...fault,
    kind,
    status,
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  };
}
