/** Formats numbers for display. */

const digits = new Intl.NumberFormat('en-GB');

/** Formats a number, such as “12,345”. */
export function formatNumber(number: number) {
  return digits.format(number);
}

/** Formats a count, such as “1 item” or “12,345 items”. */
export function formatCount(number: number, singular: string, plural: string = `${singular}s`) {
  return `${formatNumber(number)} ${number === 1 ? singular : plural}`;
}
