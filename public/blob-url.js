/** URLs for links that save what a page holds. */

/** How long a URL works. Until then the browser has begun to save the file. */
const LIFETIME_MS = 60_000;

/**
 * Creates a URL for a link that the user clicks now. The blob stays in memory as long as the URL works.
 * @param {Blob} blob
 */
export function createTemporaryUrl(blob) {
  const url = URL.createObjectURL(blob);
  setTimeout(() => URL.revokeObjectURL(url), LIFETIME_MS);
  return url;
}
