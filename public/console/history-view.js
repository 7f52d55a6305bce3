/** The list of the requests that were sent from this tab. */
import { find, make, makeButton } from '../elements.js';
import { claimStorage } from '../own-storage.js';
import { forgetHistory, readHistory, remember } from './request-history.js';
import { toAddress } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/**
 * @param {ParentNode} root
 * @param {import('./request-history.js').Store} storage
 * @param {(request: ComposedRequest) => void} onChoose
 */
export function createHistoryView(root, storage, onChoose) {
  const section = find(root, '[data-history]', HTMLElement);
  const list = find(section, '[data-past]', HTMLOListElement);

  const renew = () => {
    const requests = readHistory(storage);
    section.hidden = requests.length === 0;
    list.replaceChildren(...requests.map(toItem));
  };

  /** @param {ComposedRequest} request */
  const toItem = (request) => {
    const address = toAddress(request, location.origin);
    const target = address === null ? request.path : address.pathname + address.search;
    const words = [
      make('strong', {}, [request.method]),
      ' ',
      make('span', { class: 'past__target' }, [target]),
    ];
    const button = makeButton('', () => {
      onChoose(request);
      find(root, '[data-path]', HTMLInputElement).focus();
    });
    button.append(...words);
    return make('li', {}, [button]);
  };

  find(section, '[data-forget]', HTMLButtonElement).addEventListener('click', () => {
    forgetHistory(storage);
    renew();
    find(root, '[data-path]', HTMLInputElement).focus(); // the button is gone
  });
  renew();

  return {
    /** @param {ComposedRequest} request */
    add(request) {
      if (remember(storage, request)) claimStorage(storage);
      renew();
    },
  };
}
