import { z } from 'zod';
import { integer, oneOf } from '../platform/variable-schemas.ts';

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

/** What goes wrong with the calls of a route. */
export interface Fault {
  readonly route: FaultTarget;
  readonly kind: FaultKind;
  /** With how many calls; undefined until it is cleared. */
  readonly calls?: number;
  /** Milliseconds that pass before anything else. */
  readonly latencyMs: number;
  /** Of `status`. */
  readonly answer?: { readonly status: number; readonly body?: string; readonly contentType?: string };
  /** Of `rate-limit`, in seconds. */
  readonly retryAfter: number;
}

/** What a request to `/_faults` asks for. */
type FaultCommand =
  | { readonly kind: 'set'; readonly fault: Fault }
  /** Without a route: every fault. */
  | { readonly kind: 'clear'; readonly route?: FaultTarget };

export type FaultReading =
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
 * Reads what a form or a JSON object asks for, by the names of its fields; an empty one counts as absent. Every
 * problem is told at once.
 */
export function readFaultCommand(fields: Readonly<Record<string, string>>): FaultReading {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
  const parsed = FIELDS.safeParse(given);
  if (!parsed.success) return { problems: parsed.error.issues.map(toProblem) };
  const { fault: kind, route } = parsed.data;
  if (kind === 'none') return { command: { kind: 'clear', ...(route !== undefined && { route }) } };
  const problems = [...misfits(kind, parsed.data)];
  if (route === undefined || problems.length > 0) return { problems };
  return { command: { kind: 'set', fault: toFault(kind, route, parsed.data) } };
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

function toFault(kind: FaultKind, route: FaultTarget, fields: Fields): Fault {
  const { calls, latencyMs = 0, status, body, contentType, retryAfter = 1 } = fields;
  return {
    route,
    kind,
    latencyMs,
    retryAfter,
    ...(calls !== undefined && { calls }),
    ...(status !== undefined && {
      answer: {
        status,
        ...(body !== undefined && { body }),
        ...(contentType !== undefined && { contentType }),
      },
    }),
  };
}
