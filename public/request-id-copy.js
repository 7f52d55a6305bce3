/** A button that copies the number that a person mentions who asks for help. */

const SAYS_SO_MS = 4_000;

/** Adds it where a page shows such a number and the browser lets pages copy. */
export function addRequestIdCopy() {
  const place = document.querySelector('[data-request-id]');
  const number = place?.querySelector('code')?.textContent;
  if (!place || !number || !('clipboard' in navigator)) return;

  const button = document.createElement('button');
  button.className = 'button button--small';
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', 'Copy the number');
  const said = document.createElement('span');
  said.setAttribute('role', 'status');
  /** @param {string} words */
  const say = (words) => {
    said.textContent = words;
    setTimeout(() => (said.textContent = ''), SAYS_SO_MS);
  };
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(number).then(
      () => say('Copied'),
      () => say('Your browser does not allow it: please mark the number and copy it yourself'),
    );
  });
  place.append(' ', button, ' ', said);
}
