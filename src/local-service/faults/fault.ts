import * as z from 'zod';
import { integer, oneOf } from '../../config/schema.ts';

/** The routes for which faults can be set, by their names in `/_faults`. */
const FAULT_ROUTES = ['authorization', 'token', 'workspaces', 'workspace', 'rooms', 'murals'] as const;
export type FaultRoute = (typeof FAULT_ROUTES)[number];

/** `any` stands for every route without its own fault. */
export const FAULT_TARGETS = [...FAULT_ROUTES, 'any'] as const;
export type FaultTarget = (typeof FAULT_TARGETS)[number];

const FAULT_KINDS = [
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

/** A fault that affects requests on a route. */
export type Fault = Readonly<ReturnType<typeof toFault>>;

/** The fields of a form or JSON object that sets or clears a fault, keyed by name. */
export type FaultFields = Readonly<Record<string, string>>;

/** The change that a request to `/_faults` makes. */
type FaultCommand =
  | { readonly kind: 'set'; readonly fault: Fault }
  /** Clears the fault for a route, or all faults if no route is given. */
  | { readonly kind: 'clear'; readonly route?: FaultTarget };

/** A problem with the fields. If only one field is wrong, the text begins with the name of that field. */
export interface FaultProblem {
  /** Absent if the problem concerns several fields, an unknown field or the entire body. */
  readonly field?: string;
  readonly text: string;
}

const LISTS: readonly FaultTarget[] = ['workspaces', 'rooms', 'murals', 'any'];
const API_ROUTES: readonly FaultTarget[] = [...LISTS, 'workspace'];

interface FaultRules {
  /** The fields that only this fault accepts. */
  readonly fields?: readonly string[];
  readonly required?: readonly string[];
  /** The routes that the fault affects; absent if the fault affects all routes. */
  readonly routes?: readonly FaultTarget[];
}

const FAULT_RULES: Readonly<Record<FaultKind, FaultRules>> = {
  latency: { required: ['latencyMs'] },
  status: { fields: ['status', 'body', 'contentType'], required: ['status'] },
  'rate-limit': { fields: ['retryAfter'] },
  'reset-before': {},
  'reset-after': {},
  cut: {},
  'access-token-revoked': { routes: API_ROUTES },
  'grant-revoked': { routes: [...API_ROUTES, 'token'] },
  'next-expired': { routes: LISTS },
};

const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+(?:; *charset=[\w-]+)?$/; // RFC 9110 §8.3.1

const FIELDS = z.strictObject({
  route: oneOf(FAULT_TARGETS).optional(),
  fault: oneOf([...FAULT_KINDS, 'none']),
  /** Number of requests that the fault affects; undefined means all requests until the fault is cleared. */
  calls: integer(1, 1_000_000).optional(),
  /** Delay before any other processing, in ms. */
  latencyMs: integer(0, 120_000).optional(),
  status: integer(200, 599).optional(),
  body: z.string().optional(),
  contentType: z.string().regex(MEDIA_TYPE, 'must be a media type such as text/html').optional(),
  /** In seconds. */
  retryAfter: integer(0, 86_400).optional(),
});

/** Parses the command in the fields. An empty field is treated as absent. Returns all problems together. */
export function readFaultCommand(
  fields: FaultFields,
): { readonly command: FaultCommand } | { readonly problems: readonly FaultProblem[] } {
  const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
  const parsed = FIELDS.safeParse(given);
  const problems = [...(parsed.error?.issues.map(toProblem) ?? []), ...findMisfits(given)];
  if (!parsed.success || problems.length > 0) return { problems };
  const { fault: kind, route } = parsed.data;
  if (kind === 'none') return { command: { kind: 'clear', ...(route !== undefined && { route }) } };
  return { command: { kind: 'set', fault: toFault(kind, parsed.data) } };
}

/** Drops fields that belong to other faults. A form includes them if the user completed them before choosing this fault. */
export function withoutOtherFields(fields: FaultFields): FaultFields {
  const others = Object.entries(FAULT_RULES).filter(([kind]) => kind !== fields['fault']);
  const names = new Set(others.flatMap(([, rules]) => rules.fields ?? []));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}

/** Returns whether a fault of this kind affects a route. */
export function hasEffectOn(route: FaultTarget, kind: FaultKind): boolean {
  return FAULT_RULES[kind].routes?.includes(route) !== false;
}

function toProblem(issue: z.core.$ZodIssue): FaultProblem {
  if (issue.code === 'unrecognized_keys') return { text: `there is no field ${issue.keys.join(', ')}` };
  const field = issue.path.join('.');
  return { field, text: `${field} ${issue.message}` };
}

/** Finds fields that are valid individually but not in combination. */
function* findMisfits(fields: FaultFields): Generator<FaultProblem> {
  const kind = FAULT_KINDS.find((one) => one === fields['fault']);
  if (kind === undefined) return;
  const { required = [], routes } = FAULT_RULES[kind];
  for (const field of ['route', ...required])
    if (!Object.hasOwn(fields, field)) yield { field, text: `${field} is missing` };
  for (const [other, { fields: own = [] }] of Object.entries(FAULT_RULES)) {
    if (other === kind) continue;
    for (const field of own)
      if (Object.hasOwn(fields, field)) yield { field, text: `${field} is only for the fault ${other}` };
  }
  const route = FAULT_TARGETS.find((one) => one === fields['route']);
  if (route !== undefined && routes?.includes(route) === false) {
    const text = `route must be one of ${routes.join(', ')}, because ${kind} has no effect on other routes`;
    yield { field: 'route', text };
  }
}

/** Creates a fault from valid fields. Required fields are present, so only optional fields use the defaults. */
function toFault(kind: FaultKind, fields: z.output<typeof FIELDS>) {
  const { route = 'any', calls, latencyMs = 0, status = 500, body, contentType, retryAfter = 1 } = fields;
  const fault = { route, latencyMs, ...(calls !== undefined && { calls }) };
  if (kind === 'rate-limit') return { ...fault, kind, retryAfter };
  if (kind !== 'status') return { ...fault, kind };
  return {
    ...fault,
    kind,
    status,
    ...(body !== undefined && { body }),
    ...(contentType !== undefined && { contentType }),
  };
}
