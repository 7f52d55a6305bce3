/** A button that copies the reference that a person mentions who asks for help. */
import { copyText } from './clipboard.js';
import { make, makeButton } from './elements.js';

const SAYS_SO_MS = 4_000;

/** Adds it where a page shows one and the browser lets pages copy. */
export function addRequestIdCopy() {
  const place = document.querySelector('[data-request-id]');
  const reference = place?.querySelector('code')?.textContent;
  if (!place || !reference || !('clipboard' in navigator)) return;

  const said = make('span', { role: 'status' });
  const copy = async () => {
    said.textContent = (await copyText(reference))
      ? 'Copied'
      : 'Your browser does not allow it: please mark the reference and copy it yourself';
    setTimeout(() => (said.textContent = ''), SAYS_SO_MS);
  };
  place.append(
    ' ',
    makeButton('Copy', () => void copy(), { 'aria-label': 'Copy the reference' }),
    ' ',
    said,
  );
}
