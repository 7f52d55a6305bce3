import { z } from 'zod';
import { integer, oneOf } from '../../config/schema.ts';
import { FAULT_KINDS, FAULT_RULES, FAULT_TARGETS } from './fault.ts';
import type { Fault, FaultKind, FaultTarget } from './fault.ts';

/** The fields of a form or a JSON object that ask for a fault, by name. */
export type FaultFields = Readonly<Record<string, string>>;

/** What a request to `/_faults` asks for. */
type FaultCommand =
  | { readonly kind: 'set'; readonly fault: Fault }
  /** Without a route: every fault. */
  | { readonly kind: 'clear'; readonly route?: FaultTarget };

/** What is wrong with a field; the text begins with its name. */
export interface FaultProblem {
  /** Absent where no field is to blame. */
  readonly field?: string;
  readonly text: string;
}

type FaultReading = { readonly command: FaultCommand } | { readonly problems: readonly FaultProblem[] };

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
  const problems = [...(parsed.error?.issues.map(toProblem) ?? []), ...findMisfits(given)];
  if (!parsed.success || problems.length > 0) return { problems };
  const { fault: kind, route } = parsed.data;
  if (kind === 'none') return { command: { kind: 'clear', ...(route !== undefined && { route }) } };
  return { command: { kind: 'set', fault: toFault(kind, parsed.data) } };
}

/** Without the fields that belong to other faults than theirs: a form sends what a person filled in before. */
export function withoutLeftovers(fields: FaultFields): FaultFields {
  const others = Object.entries(FAULT_RULES).filter(([kind]) => kind !== fields['fault']);
  const leftovers = new Set(others.flatMap(([, rules]) => rules.fields ?? []));
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !leftovers.has(name)));
}

function toProblem(issue: z.core.$ZodIssue): FaultProblem {
  if (issue.code === 'unrecognized_keys') return { text: `there is no field ${issue.keys.join(', ')}` };
  const field = issue.path.join('.');
  return { field, text: `${field} ${issue.message}` };
}

/** What is wrong with fields that may each be right. */
function* findMisfits(fields: FaultFields): Generator<FaultProblem> {
  const kind = FAULT_KINDS.find((one) => one === fields['fault']);
  if (kind === undefined) return;
  const { required = [], routes } = FAULT_RULES[kind];
  for (const field of ['route', ...required]) {
    if (!Object.hasOwn(fields, field)) yield { field, text: `${field} is missing` };
  }
  for (const [other, { fields: own = [] }] of Object.entries(FAULT_RULES)) {
    if (other === kind) continue;
    for (const field of own) {
      if (Object.hasOwn(fields, field)) yield { field, text: `${field} is for the fault ${other} only` };
    }
  }
  const route = FAULT_TARGETS.find((one) => one === fields['route']);
  if (route !== undefined && routes?.includes(route) === false) {
    yield {
      field: 'route',
      text: `route must be one of ${routes.join(', ')}: elsewhere ${kind} means nothing`,
    };
  }
}

/** Where nothing is missing: no default is used but those of fields that may be left out. */
function toFault(kind: FaultKind, fields: Fields): Fault {
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
