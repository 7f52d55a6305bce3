import { skipped } from '../finding.ts';
import type { Verdict } from '../finding.ts';
import type { Examination } from './examination.ts';

/** What INFO says, by field. */
export type Info = ReadonlyMap<string, string>;

/** `field:value` lines; a section's `# Name` is none. */
export function parseInfo(text: string): Info {
  const lines = text.split(/\r?\n/).filter((line) => /^\w+:/.test(line));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** A field that is a number; 0 where it is absent. */
export function numberIn(info: Info, field: string): number {
  return Number(info.get(field) ?? 0);
}

/** A verdict that rests on INFO alone, and can't be given without. */
export function byInfo(
  judge: (info: Info, examination: Examination) => Verdict,
): (examination: Examination) => Verdict {
  return (examination) =>
    examination.info === null ? skipped('Only INFO would tell.') : judge(examination.info, examination);
}
