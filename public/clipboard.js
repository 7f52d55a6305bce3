/** Copying. */

/**
 * Whether the text was copied. A browser may not allow it, and has no clipboard for a page under plain http.
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
