/** Addresses under which the browser saves what a page holds. */

/** How long a browser may take to begin; it has taken hold of the bytes by then. */
const LIVES_MS = 60_000;

/**
 * An address for a link that is clicked now: as long as it lives, all of the blob is kept in memory.
 * @param {Blob} blob
 */
export function toBriefAddress(blob) {
  const address = URL.createObjectURL(blob);
  setTimeout(() => URL.revokeObjectURL(address), LIVES_MS);
  return address;
}
