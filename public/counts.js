/** Formats numbers for display. */

const digits = new Intl.NumberFormat('en-GB');

/**
 * Formats a number, such as “12,345”.
 * @param {number} number
 */
export function formatNumber(number) {
  return digits.format(number);
}

/**
 * Formats a count, such as “1 item” or “12,345 items”.
 * @param {number} number
 * @param {string} singular
 * @param {string} [plural]
 */
export function formatCount(number, singular, plural = `${singular}s`) {
  return `${formatNumber(number)} ${number === 1 ? singular : plural}`;
}
