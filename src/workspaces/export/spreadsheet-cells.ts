/** What a spreadsheet passes over when it looks at how a cell begins: blanks, and characters that can't be seen. */
const PASSED_OVER = String.raw`[\s\p{C}\p{Z}]*`;
const BEGINNING = new RegExp(`^${PASSED_OVER}`, 'u');
/**
 * Where another cell or row begins, for who reads the file with other separators, and all that is passed over then: quotes
 * too, for they would be those of that cell.
 */
const NEW_BEGINNINGS = /[;\t\r\n]["\s\p{C}\p{Z}]*/gu;

/**
 * A text that no spreadsheet takes for a formula (CWE-1236): an apostrophe stands ahead of wherever one would begin, at
 * the start of the cell or behind what separates cells elsewhere. Where Windows has a decimal comma, Excel parts cells
 * at semicolons and knows nothing of our quotes then.
 */
export function toHarmlessText(text: string): string {
  const begins = /^[\t\r\n]/.test(text) || beginsFormula(text, BEGINNING.exec(text)?.[0].length ?? 0);
  const inside = text.replaceAll(NEW_BEGINNINGS, (passed, at: number) =>
    beginsFormula(text, at + passed.length) ? `${passed}'` : passed,
  );
  return begins ? `'${inside}` : inside;
}

/** Whether there is one of the characters with which formulas begin, or one that stands for it, such as a full-width one. */
function beginsFormula(text: string, at: number): boolean {
  return /^[=+\-@]$/.test(text.charAt(at).normalize('NFKC'));
}
