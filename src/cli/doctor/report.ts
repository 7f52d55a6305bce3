import type { Finding, Status } from './finding.ts';

const LABELS: Readonly<Record<Status, string>> = {
  ok: 'ok       ',
  skipped: 'skipped  ',
  warning: 'warning  ',
  problem: 'PROBLEM  ',
};
/** Control and format characters. A terminal obeys or hides them, and a server may have sent them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/gu;

export function toText(findings: readonly Finding[]): string {
  return `${findings.flatMap(toLines).join('\n')}\n\n${toSummary(findings)}\n`;
}

/** The report for programs; docs/operations.md documents its format. */
export function toJson(findings: readonly Finding[]): string {
  const json = JSON.stringify({ ok: !hasProblem(findings), checks: findings }, null, 2);
  // JSON.stringify leaves C1 and format characters as they are; each line feed left is one of its own.
  const escaped = json.replaceAll(UNPRINTABLE, (character) =>
    character === '\n' ? character : character.split('').map(toEscape).join(''),
  );
  return `${escaped}\n`;
}

export function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some(({ status }) => status === 'problem');
}

/** Escapes one UTF-16 code unit (RFC 8259 §7). */
function toEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Prints what was skipped for the same reason as its neighbour only once. */
function toLines({ status, title, detail, remedy }: Finding, at: number, all: readonly Finding[]): string[] {
  if (status === 'skipped' && all[at - 1]?.detail === detail) return [];
  const line = LABELS[status] + (detail.startsWith(title) ? detail : `${title}: ${detail}`);
  const lines = remedy === '' ? [line] : [line, `         To do: ${remedy}`];
  return lines.map((each) => each.replaceAll(UNPRINTABLE, '\uFFFD'));
}

function toSummary(findings: readonly Finding[]): string {
  const count = (status: Status) => {
    const found = findings.filter((finding) => finding.status === status).length;
    return found === 0 ? '' : `${found} ${status}${found === 1 ? '' : 's'}`;
  };
  const [problems, warnings] = [count('problem'), count('warning')];
  if (problems === '') return `Nothing is wrong${warnings && `; ${warnings}`}.`;
  return `${problems}${warnings && ` and ${warnings}`}: see above.`;
}
