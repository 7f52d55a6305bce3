/** Writes to the clipboard. */

/**
 * Copies text. Returns false if the browser refuses, or has no clipboard API because the page was loaded over plain HTTP.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
