/**
 * Prints a table with a title. The first row is the header. The first column is left-aligned, and the others are right-aligned.
 * @param {string} title
 * @param {readonly (readonly string[])[]} rows
 */
export function printTable(title, rows) {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((cells) => (cells[at] ?? '').length)));
  const lines = rows.map((cells) =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  '),
  );
  console.log(`\n${title}\n`);
  console.log([lines[0], widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n'));
}

/**
 * Formats a number. Numbers below 10 get at most two decimal places, and larger numbers get none.
 * @param {number} value
 */
export function formatNumber(value) {
  return value.toLocaleString('en-GB', { maximumFractionDigits: value < 10 ? 2 : 0 });
}
