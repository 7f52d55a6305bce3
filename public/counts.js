/** Numbers as readers expect them. */

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
 * @param {string} noun In the singular.
 */
export function formatCount(number, noun) {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}
