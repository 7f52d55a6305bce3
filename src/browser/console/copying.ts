/** Copies text and confirms it. If the browser refuses, selects the text for the user to copy. */
import { copyText } from '../clipboard.ts';
import { find } from '../elements.ts';

/**
 * @param status A live region.
 * @param select Selects the text in the page.
 * @returns Whether the text was copied.
 */
export async function copyOrSelect(
  { name, text }: { name: string; text: string },
  status: HTMLElement,
  select: () => void,
): Promise<boolean> {
  status.textContent = ''; // so that screen readers announce the same words again
  const isCopied = await copyText(text);
  if (!isCopied) select();
  status.textContent = isCopied
    ? `${name} was copied.`
    : `Your browser doesn’t let pages copy text. ${name} is selected, so you can copy it yourself.`;
  return isCopied;
}

/**
 * Copies text that is not on the page. If the browser refuses, shows the text in a field.
 * @param place Holds the status and the field.
 */
export function createCopying(place: ParentNode) {
  const status = find(place, '[data-copy-status]', HTMLElement);
  const field = find(place, '[data-copy-text]', HTMLTextAreaElement);

  const copy = async (name: string, text: string) => {
    field.hidden = await copyOrSelect({ name, text }, status, () => {
      field.value = text;
      field.hidden = false;
      field.focus();
      field.select();
    });
  };

  return {
    copy,
    async copyBlob(name: string, blob: Blob) {
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
