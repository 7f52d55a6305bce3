/** Numbers as people read them. */

const digits = new Intl.NumberFormat('en-GB');

/**
 * “12,345”.
 * @param {number} number
 */
export function grouped(number) {
  return digits.format(number);
}

/**
 * “1 item”, “12,345 items”.
 * @param {number} number
 * @param {string} thing One of them.
 */
export function counted(number, thing) {
  return `${grouped(number)} ${thing}${number === 1 ? '' : 's'}`;
}
