/** From best to worst. */
const STATUSES = ['ok', 'skipped', 'warning', 'problem'] as const;

export type Status = (typeof STATUSES)[number];

/** What a check found, in words for an operator. Holds no secret, and no value that may be a secret in the wrong place. */
export interface Result {
  readonly status: Status;
  /** What is the case, and what follows from it. */
  readonly detail: string;
  /** What to do; empty where there is nothing to do. */
  readonly remedy: string;
}

export interface Finding extends Result {
  /** For programs; documented in docs/operations.md. */
  readonly id: string;
  readonly title: string;
}

/** Looks at one aspect of a subject, such as the configuration or the responses of the service. */
export interface Check<Subject> {
  readonly id: string;
  readonly title: string;
  readonly run: (subject: Subject) => Result;
}

export function ok(detail: string): Result {
  return { status: 'ok', detail, remedy: '' };
}

/** The check could not run, or it can't see enough from outside. */
export function skipped(detail: string, remedy = ''): Result {
  return { status: 'skipped', detail, remedy };
}

/** It works, with a risk. */
export function warning(detail: string, remedy: string): Result {
  return { status: 'warning', detail, remedy };
}

/** It does not work, or must not stay as it is. */
export function problem(detail: string, remedy: string): Result {
  return { status: 'problem', detail, remedy };
}

export function runAll<Subject>(checks: readonly Check<Subject>[], subject: Subject): Finding[] {
  return checks.map((check) => toFinding(check, check.run(subject)));
}

/** The findings where there is no subject: the first check has this result, and the others are skipped for this reason. */
export function withoutSubject<Subject>(
  checks: readonly Check<Subject>[],
  first: Result,
  reason: string,
): Finding[] {
  return checks.map((check, at) => toFinding(check, at === 0 ? first : skipped(reason)));
}

export function toFinding(
  { id, title }: Pick<Finding, 'id' | 'title'>,
  { status, detail, remedy }: Result,
): Finding {
  return { id, status, title, detail, remedy };
}

/** Joins the results that share the worst status; repeats no text. */
export function worst(results: readonly Result[]): Result {
  const status = STATUSES.findLast((each) => results.some((result) => result.status === each)) ?? 'ok';
  const those = results.filter((result) => result.status === status);
  const join = (texts: readonly string[]) => [...new Set(texts)].filter((text) => text !== '').join(' ');
  return {
    status,
    detail: join(those.map(({ detail }) => detail)),
    remedy: join(those.map(({ remedy }) => remedy)),
  };
}
