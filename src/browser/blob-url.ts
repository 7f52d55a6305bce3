/** URLs for links that save data from the page as a file. */

/** Lifetime of a URL, long enough for the browser to start saving the file. */
const LIFETIME_MS = 60_000;

/** Creates a URL for a link that is clicked immediately. The blob stays in memory until the URL expires. */
export function createTemporaryUrl(blob: Blob) {
  const url = URL.createObjectURL(blob);
  setTimeout(() => URL.revokeObjectURL(url), LIFETIME_MS);
  return url;
}
