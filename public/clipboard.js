/** Access to the clipboard. */

/**
 * Copies text. Returns false if the browser refuses, or offers no clipboard because the page uses plain HTTP.
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
