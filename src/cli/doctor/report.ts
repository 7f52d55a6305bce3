import type { Finding } from './checks.ts';
import type { Status } from './finding.ts';

const WIDTH = 100;
const WORDS: Readonly<Record<Status, string>> = {
  ok: 'ok',
  skipped: 'skipped',
  warning: 'warning',
  problem: 'PROBLEM',
};
const INDENT = '         ';
/** What a terminal would obey, or show as something else than it is: others may have put it there. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}]/gu;

/** Whether nothing is wrong; warnings don't count. */
export function isWell(findings: readonly Finding[]): boolean {
  return findings.every(({ status }) => status !== 'problem');
}

/** For programs: documented in docs/operations.md, and stays as it is. */
export function toJson(findings: readonly Finding[]): string {
  const checks = findings.map(({ id, status, title, detail, remedy }) => ({
    id,
    status,
    title,
    detail,
    remedy,
  }));
  return `${escapeUnprintable(JSON.stringify({ ok: isWell(findings), checks }, null, 2))}\n`;
}

/** A terminal shows JSON, too. JSON.stringify leaves C1 and format characters as they are; lines end only where it has ended them. */
function escapeUnprintable(json: string): string {
  return json.replaceAll(UNPRINTABLE, (character) =>
    character === '\n' ? character : character.split('').map(toEscape).join(''),
  );
}

/** Of one UTF-16 code unit (RFC 8259 §7). */
function toEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** For people. */
export function toText(findings: readonly Finding[]): string {
  const lines = gather(findings).flatMap(toLines);
  return `${lines.join('\n')}\n\n${toSummary(findings)}\n`;
}

/** What was skipped one after the other for one reason is one line. */
function gather(findings: readonly Finding[]): Finding[] {
  const gathered: Finding[] = [];
  for (const finding of findings) {
    const before = gathered.at(-1);
    const goesOn =
      before?.status === 'skipped' && finding.status === 'skipped' && before.detail === finding.detail;
    if (goesOn) gathered[gathered.length - 1] = { ...before, title: `${before.title}; ${finding.title}` };
    else gathered.push(finding);
  }
  return gathered;
}

function toLines({ status, title, detail, remedy }: Finding): string[] {
  const said = wrap(detail.startsWith(title) ? detail : `${title}: ${detail}`);
  const [first = '', ...more] = [...said, ...(remedy === '' ? [] : wrap(`To do: ${remedy}`))];
  return [WORDS[status].padEnd(INDENT.length) + first, ...more.map((line) => INDENT + line)];
}

function toSummary(findings: readonly Finding[]): string {
  const problems = count(findings, 'problem');
  const warnings = count(findings, 'warning');
  const also = warnings === 0 ? '' : ` and ${toCount(warnings, 'warning')}`;
  if (problems > 0) return `${toCount(problems, 'problem')}${also}: see above.`;
  return warnings === 0 ? 'Nothing is wrong.' : `Nothing is wrong; ${toCount(warnings, 'warning')}.`;
}

function count(findings: readonly Finding[], status: Status): number {
  return findings.filter((finding) => finding.status === status).length;
}

function toCount(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

function wrap(text: string): string[] {
  const lines = [''];
  for (const word of text.replaceAll(UNPRINTABLE, '\uFFFD').split(' ')) {
    const line = lines.at(-1) ?? '';
    if (line !== '' && INDENT.length + line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
