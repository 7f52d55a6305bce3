/** The guide: a button beside each listing copies it. */
import { find, make, makeButton } from '../elements.js';
import { copyOrSelect } from './copying.js';

/** @param {Element} listing */
function addCopyButton(listing) {
  const code = find(listing, 'pre code', HTMLElement);
  const heading = find(listing, 'h3', HTMLElement);
  const words = make('p', { class: 'muted', role: 'status' });
  const copy = async () => {
    const copied = { what: 'The code', text: code.textContent };
    await copyOrSelect(copied, words, () => getSelection()?.selectAllChildren(code));
  };
  const button = makeButton('Copy', () => void copy(), { 'aria-label': `Copy ${heading.textContent}` });
  const row = make('div', { class: 'listing__copy' }, [button, words]);
  heading.after(row);
}

for (const listing of document.querySelectorAll('[data-listing]')) addCopyButton(listing);
