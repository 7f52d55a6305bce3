/** Copies texts, and says so; where a browser does not allow it, shows the text for the reader to copy. */
import { copyText } from '../clipboard.js';
import { find } from '../elements.js';

/**
 * @param {{ what: string, text: string }} copied
 * @param {HTMLElement} words Where it is said: a live region.
 * @param {() => void} select Selects the text where the reader can copy it.
 * @returns {Promise<boolean>} Whether it is copied.
 */
export async function copyOrSelect({ what, text }, words, select) {
  words.textContent = ''; // a screen reader hears the same words again
  const isCopied = await copyText(text);
  if (!isCopied) select();
  words.textContent = isCopied
    ? `${what} is copied.`
    : `This browser does not let the page copy. ${what} is selected: copy it yourself.`;
  return isCopied;
}

/**
 * For texts that stand nowhere on the page: where one can’t be copied, a field shows it.
 * @param {ParentNode} place Has the words and the field.
 */
export function createCopying(place) {
  const words = find(place, '[data-copied-words]', HTMLElement);
  const field = find(place, '[data-copied-text]', HTMLTextAreaElement);

  /**
   * @param {string} what
   * @param {string} text
   */
  const copy = async (what, text) => {
    field.hidden = await copyOrSelect({ what, text }, words, () => {
      field.value = text;
      field.hidden = false;
      field.focus();
      field.select();
    });
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
    /** What was said is over, and so is the text. */
    forget() {
      words.textContent = '';
      field.value = '';
      field.hidden = true;
    },
  };
}
