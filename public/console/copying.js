/** Copies text and confirms it. If the browser refuses, selects the text for the user to copy. */
import { copyText } from '../clipboard.js';
import { find } from '../elements.js';

/**
 * @param {{ name: string, text: string }} copied
 * @param {HTMLElement} status A live region.
 * @param {() => void} select Selects the text in the page.
 * @returns {Promise<boolean>} Whether it was copied.
 */
export async function copyOrSelect({ name, text }, status, select) {
  status.textContent = ''; // so that screen readers announce the same words again
  const isCopied = await copyText(text);
  if (!isCopied) select();
  status.textContent = isCopied
    ? `${name} was copied.`
    : `Your browser doesn’t allow pages to copy. ${name} is selected, so that you can copy it.`;
  return isCopied;
}

/**
 * Copies text that is not in the page. If the browser refuses, a field shows the text.
 * @param {ParentNode} place Holds the status and the field.
 */
export function createCopying(place) {
  const status = find(place, '[data-copy-status]', HTMLElement);
  const field = find(place, '[data-copy-text]', HTMLTextAreaElement);

  /**
   * @param {string} name
   * @param {string} text
   */
  const copy = async (name, text) => {
    field.hidden = await copyOrSelect({ name, text }, status, () => {
      field.value = text;
      field.hidden = false;
      field.focus();
      field.select();
    });
  };

  return {
    copy,
    /**
     * @param {string} name
     * @param {Blob} blob
     */
    async copyBlob(name, blob) {
      const text = await blob.text().catch(() => null); // too large for memory
      if (text === null) status.textContent = `${name} is too large to copy. Save it instead.`;
      else await copy(name, text);
    },
    /** Removes the confirmation and the text. */
    clear() {
      status.textContent = '';
      field.value = '';
      field.hidden = true;
    },
  };
}
