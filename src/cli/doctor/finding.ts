/** Statuses from best to worst. */
const STATUSES = ['ok', 'skipped', 'warning', 'problem'] as const;

export type Status = (typeof STATUSES)[number];

/** The result of a check, worded for the operator. Never contains a secret, or a value that may be a misplaced secret. */
export interface Result {
  readonly status: Status;
  /** What the check found, and the consequences. Only this field may contain text from a server, such as an address. */
  readonly detail: string;
  /** The next step; empty if there is nothing to do. */
  readonly remedy: string;
}

export interface Finding extends Result {
  /** Stable, machine-readable identifier of the check (docs/deploy.md). */
  readonly id: string;
  readonly title: string;
}

/** Checks one aspect of a subject, such as the configuration or the responses from the service. */
export interface Check<Subject> {
  readonly id: string;
  readonly title: string;
  readonly run: (subject: Subject) => Result;
}

export function ok(detail: string): Result {
  return { status: 'ok', detail, remedy: '' };
}

/** The result of a check that couldn't run or is inconclusive. */
export function skipped(detail: string, remedy = ''): Result {
  return { status: 'skipped', detail, remedy };
}

/** The result for a setting that works but carries a risk. */
export function warning(detail: string, remedy: string): Result {
  return { status: 'warning', detail, remedy };
}

/** The result for a setting that doesn't work or must be changed. */
export function problem(detail: string, remedy: string): Result {
  return { status: 'problem', detail, remedy };
}

/** The result of a check whose variables are missing or invalid. Each of those variables has its own finding. */
export const INVALID_VARIABLES = skipped('This check needs a variable that is missing or invalid.');

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

/** Control and format characters. A terminal would interpret or hide such characters in text from a server. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/gu;

export function toFinding(id: string, title: string, { status, detail, remedy }: Result): Finding {
  return { id, status, title, detail: detail.replaceAll(UNPRINTABLE, '\uFFFD'), remedy };
}

/** Joins the results that share the worst status, without duplicate text. */
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
