/** Copies texts, and says so; where a browser does not allow it, shows the text for the reader to copy. */
import { find } from './elements.js';

/** @param {ParentNode} root */
export function createCopying(root) {
  const words = find(root, '[data-copied-words]', HTMLElement);
  const field = find(root, '[data-copied-text]', HTMLTextAreaElement);
  return {
    /**
     * @param {string} what
     * @param {string} text
     */
    async copy(what, text) {
      words.textContent = ''; // a screen reader hears the same words again
      try {
        await navigator.clipboard.writeText(text);
        field.hidden = true;
        words.textContent = `${what} is copied.`;
      } catch {
        field.hidden = false;
        field.value = text;
        field.focus();
        field.select();
        words.textContent = `This browser does not let the page copy. ${what} is selected below: copy it yourself.`;
      }
    },
  };
}
