/** The guide: adds a copy button to each listing. */
import { find, make, makeButton } from '../elements.ts';
import { startPage } from '../page.ts';
import { copyOrSelect } from './copying.ts';

function addCopyButton(listing: Element) {
  const code = find(listing, 'pre code', HTMLElement);
  const heading = find(listing, 'h3', HTMLElement);
  const status = make('p', { class: 'muted', role: 'status' });
  const copy = async () => {
    const copied = { name: 'The code', text: code.textContent };
    await copyOrSelect(copied, status, () => getSelection()?.selectAllChildren(code));
  };
  const button = makeButton('Copy', () => void copy(), { 'aria-label': `Copy ${heading.textContent}` });
  heading.after(make('div', { class: 'listing__copy' }, [button, status]));
}

startPage();
for (const listing of document.querySelectorAll('[data-listing]')) addCopyButton(listing);
