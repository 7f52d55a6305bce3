import type { Finding, Status } from './finding.ts';

export function toText(findings: readonly Finding[]): string {
  return `${findings.flatMap(toLines).join('\n')}\n\n${toSummary(findings)}\n`;
}

/** Returns the report for programs; docs/deploy.md documents the format. */
export function toJson(findings: readonly Finding[]): string {
  return `${JSON.stringify({ ok: !hasProblem(findings), checks: findings }, null, 2)}\n`;
}

export function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some(({ status }) => status === 'problem');
}

/** Prints only the first of several consecutive checks that were skipped for the same reason. */
function toLines({ status, title, detail, remedy }: Finding, at: number, all: readonly Finding[]): string[] {
  if (status === 'skipped' && all[at - 1]?.detail === detail) return [];
  const label = (status === 'problem' ? 'PROBLEM' : status).padEnd(9);
  const line = label + (detail.startsWith(title) ? detail : `${title}: ${detail}`);
  return remedy === '' ? [line] : [line, `         To do: ${remedy}`];
}

function toSummary(findings: readonly Finding[]): string {
  const count = (status: Status) => {
    const found = findings.filter((finding) => finding.status === status).length;
    return found === 0 ? '' : `${found} ${status}${found === 1 ? '' : 's'}`;
  };
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems === '') return `No problems${warnings && `; ${warnings}`}.`;
  return `${problems}${warnings && ` and ${warnings}`}: see above.`;
}
