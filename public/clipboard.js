/** The clipboard. */

/**
 * Copies a text. False where the browser refuses, or has no clipboard for a page under plain http.
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
