/** Formats numbers for display. */

const digits = new Intl.NumberFormat('en-GB');

/**
 * “12,345”.
 * @param {number} number
 */
export function formatNumber(number) {
  return digits.format(number);
}

/**
 * “1 item”, “12,345 items”.
 * @param {number} number
 * @param {string} singular
 * @param {string} [plural]
 */
export function formatCount(number, singular, plural = `${singular}s`) {
  return `${formatNumber(number)} ${number === 1 ? singular : plural}`;
}
