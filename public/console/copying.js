/** Copies texts, and says so; where a browser does not allow it, shows the text for the reader to copy. */
import { copyText } from '../clipboard.js';
import { find } from '../elements.js';

/** @param {ParentNode} root */
export function createCopying(root) {
  const words = find(root, '[data-copied-words]', HTMLElement);
  const field = find(root, '[data-copied-text]', HTMLTextAreaElement);

  /**
   * @param {string} what
   * @param {string} text
   */
  const copy = async (what, text) => {
    words.textContent = ''; // a screen reader hears the same words again
    const isCopied = await copyText(text);
    field.hidden = isCopied;
    if (isCopied) {
      words.textContent = `${what} is copied.`;
      return;
    }
    field.value = text;
    field.focus();
    field.select();
    words.textContent = `This browser does not let the page copy. ${what} is selected below: copy it yourself.`;
  };

  return {
    copy,
    /**
     * @param {string} what
     * @param {Blob} blob
     */
    async copyBlob(what, blob) {
      const text = await blob.text().catch(() => null); // too much for the browser's memory
      if (text === null) words.textContent = `${what} could not be read to copy it. Save it instead.`;
      else await copy(what, text);
    },
  };
}
