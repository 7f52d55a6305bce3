/** From best to worst. */
const STATUSES = ['ok', 'skipped', 'warning', 'problem'] as const;

export type Status = (typeof STATUSES)[number];

/** What was found, in words for an operator. Nothing in it is secret, nor a value that might be one in the wrong place. */
export interface Verdict {
  readonly status: Status;
  /** What it is, and what that means. */
  readonly detail: string;
  /** What to do; empty where there is nothing. */
  readonly remedy: string;
}

export function ok(detail: string): Verdict {
  return { status: 'ok', detail, remedy: '' };
}

/** Could not be looked at, or can't be told from outside. */
export function skipped(detail: string, remedy = ''): Verdict {
  return { status: 'skipped', detail, remedy };
}

/** Works, and will hurt some day. */
export function warning(detail: string, remedy: string): Verdict {
  return { status: 'warning', detail, remedy };
}

/** Does not work, or must not go on like this. */
export function problem(detail: string, remedy: string): Verdict {
  return { status: 'problem', detail, remedy };
}

/** The same verdict for all of a table of checks. */
export function verdictForAll<Id extends string>(
  titles: Readonly<Record<Id, string>>,
  verdict: Verdict,
): Record<Id, Verdict> {
  return Object.fromEntries(Object.keys(titles).map((id) => [id, verdict])) as Record<Id, Verdict>;
}

/** The worst of several verdicts on the same thing: what they say, each thing once. */
export function worst(verdicts: readonly Verdict[]): Verdict {
  const status = STATUSES.findLast((each) => verdicts.some((verdict) => verdict.status === each)) ?? 'ok';
  const those = verdicts.filter((verdict) => verdict.status === status);
  return {
    status,
    detail: together(those.map(({ detail }) => detail)),
    remedy: together(those.map(({ remedy }) => remedy)),
  };
}

function together(texts: readonly string[]): string {
  return [...new Set(texts)].filter((text) => text !== '').join(' ');
}
