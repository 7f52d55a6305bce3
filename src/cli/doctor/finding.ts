/** Statuses from best to worst. */
const STATUSES = ['ok', 'skipped', 'warning', 'problem'] as const;

export type Status = (typeof STATUSES)[number];

/** What a check found, in words for an operator. Holds no secret, and no value that may be a secret in the wrong place. */
export interface Result {
  readonly status: Status;
  /** The state, and what follows from it. Only this text may hold words of a server, such as its address. */
  readonly detail: string;
  /** The next step; empty if the operator has nothing to do. */
  readonly remedy: string;
}

export interface Finding extends Result {
  /** Identifies the check to programs (docs/deploy.md). */
  readonly id: string;
  readonly title: string;
}

/** Checks one aspect of a subject, such as the configuration or the responses of the service. */
export interface Check<Subject> {
  readonly id: string;
  readonly title: string;
  readonly run: (subject: Subject) => Result;
}

export function ok(detail: string): Result {
  return { status: 'ok', detail, remedy: '' };
}

/** The result of a check that could not run, or that can't see enough from outside. */
export function skipped(detail: string, remedy = ''): Result {
  return { status: 'skipped', detail, remedy };
}

/** The result for something that works, but with a risk. */
export function warning(detail: string, remedy: string): Result {
  return { status: 'warning', detail, remedy };
}

/** The result for something that does not work, or must not stay as it is. */
export function problem(detail: string, remedy: string): Result {
  return { status: 'problem', detail, remedy };
}

/** The result of a check whose variables are missing or wrong. Each of these variables has a finding of its own. */
export const INVALID_VARIABLES = skipped('Skipped until its variables are valid.');

export function isResult(value: object): value is Result {
  return 'remedy' in value;
}

/** Runs the checks on a subject. If the subject could not be read, the first check reports why, and the others are skipped. */
export function runAll<Subject extends object>(
  checks: readonly Check<Subject>[],
  subject: Subject | Result,
): Finding[] {
  const without = (first: Result, at: number) =>
    at === 0 || first.status === 'skipped' ? first : skipped(`See “${checks[0]?.title}” first.`);
  return checks.map((check, at) =>
    toFinding(check.id, check.title, isResult(subject) ? without(subject, at) : check.run(subject)),
  );
}

/** Control and format characters. A terminal obeys or hides them, and a server may have sent them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/gu;

export function toFinding(id: string, title: string, { status, detail, remedy }: Result): Finding {
  return { id, status, title, detail: detail.replaceAll(UNPRINTABLE, '\uFFFD'), remedy };
}

/** Joins the results that share the worst status, without repeating a text. */
export function combineResults(results: readonly Result[]): Result {
  const status = STATUSES.findLast((each) => results.some((result) => result.status === each)) ?? 'ok';
  const those = results.filter((result) => result.status === status);
  const join = (texts: readonly string[]) => [...new Set(texts)].filter((text) => text !== '').join(' ');
  return {
    status,
    detail: join(those.map(({ detail }) => detail)),
    remedy: join(those.map(({ remedy }) => remedy)),
  };
}
