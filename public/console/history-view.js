/** The list of the requests that were sent from this tab. */
import { find, make, makeButton } from '../elements.js';
import { claimStorage } from '../own-storage.js';
import { toOutcome, toTarget } from './past-words.js';
import { forgetHistory, noteOutcome, readHistory, remember } from './request-history.js';

/** @typedef {import('./send-request.js').Outcome} Outcome */
/** @typedef {import('./request-history.js').PastRequest} PastRequest */
/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/**
 * @param {ParentNode} root
 * @param {import('./request-history.js').Store} storage
 * @param {(past: PastRequest) => void} onChoose
 */
export function createHistoryView(root, storage, onChoose) {
  const section = find(root, '[data-history]', HTMLElement);
  const list = find(section, '[data-past]', HTMLOListElement);
  const path = find(root, '[data-path]', HTMLInputElement);

  const show = () => {
    const history = readHistory(storage);
    section.hidden = history.length === 0;
    list.replaceChildren(...history.map(toItem));
  };

  /** @param {PastRequest} past */
  const toItem = (past) => {
    const button = makeButton('', () => {
      onChoose(past);
      path.focus();
    });
    const sent = new Date(past.sentAt);
    const outcome = make('span', { class: 'past__outcome' });
    const isOfEarlierPage = past.sentAt < performance.timeOrigin;
    sayOutcome(outcome, past.outcome || (isOfEarlierPage ? 'no answer seen' : ''));
    button.append(
      make('strong', {}, [past.request.method]),
      ' ',
      make('span', { class: 'past__target' }, [toTarget(past.request, location.origin)]),
      ' ',
      outcome,
      ' ',
      make('time', { class: 'past__time', datetime: sent.toISOString() }, [timeOfDay.format(sent)]),
    );
    return make('li', {}, [button]);
  };

  find(section, '[data-forget]', HTMLButtonElement).addEventListener('click', () => {
    forgetHistory(storage);
    show();
    path.focus(); // the button is gone
  });
  show();

  return {
    /**
     * @param {ComposedRequest} request
     * @param {number} sentAt In ms since the epoch.
     */
    add(request, sentAt) {
      if (remember(storage, request, sentAt)) claimStorage(storage);
      show();
      return {
        /** @param {Outcome} outcome */
        ended(outcome) {
          const words = toOutcome(outcome);
          const isKept = noteOutcome(storage, sentAt, words);
          // The items stay: one of them may have the focus.
          if (isKept) sayOutcome(find(list, '.past__outcome', HTMLElement), words);
          else show();
        },
      };
    },
  };
}

/**
 * @param {HTMLElement} place
 * @param {string} words
 */
function sayOutcome(place, words) {
  place.textContent = words;
  place.classList.toggle('past__outcome--bad', !/^[123]\d\d$/.test(words));
}
