/** Adds a button that copies the request id of an error page. */
import { copyText } from './clipboard.ts';
import { make, makeButton } from './elements.ts';

const CONFIRMATION_MS = 4_000;

/** Adds the button if the page has a request id and the browser has a clipboard API. */
export function addRequestIdCopy() {
  const place = document.querySelector('[data-request-id]');
  const requestId = place?.querySelector('code')?.textContent;
  if (!place || !requestId || !('clipboard' in navigator)) return;

  const status = make('span', { role: 'status' });
  const copy = async () => {
    status.textContent = (await copyText(requestId))
      ? 'Copied'
      : 'Your browser doesn’t let pages copy text. Select the request ID and copy it.';
    setTimeout(() => (status.textContent = ''), CONFIRMATION_MS);
  };
  place.append(
    ' ',
    makeButton('Copy', () => void copy(), { 'aria-label': 'Copy the request ID' }),
    ' ',
    status,
  );
}
