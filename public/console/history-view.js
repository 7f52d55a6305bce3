/** The list of requests sent from this tab. */
import { find, make, makeButton } from '../elements.js';
import { claimStorage } from '../tab-storage.js';
import { toOutcomeLabel, toTargetLabel } from './history-labels.js';
import { clearHistory, recordOutcome, readHistory, addToHistory } from './request-history.js';

/** @typedef {import('./request-history.js').SentRequest} SentRequest */
/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./send-request.js').Outcome} Outcome */

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/**
 * @param {ParentNode} root
 * @param {import('./request-history.js').Store} storage
 * @param {(sent: SentRequest) => void} onChoose
 */
export function createHistoryView(root, storage, onChoose) {
  const section = find(root, '[data-history]', HTMLElement);
  const list = find(section, '[data-history-items]', HTMLOListElement);
  const path = find(root, '[data-path]', HTMLInputElement);

  const show = () => {
    const history = readHistory(storage);
    section.hidden = history.length === 0;
    list.replaceChildren(...history.map(toItem));
  };

  /** @param {SentRequest} sent */
  const toItem = (sent) => {
    const button = makeButton('', () => {
      onChoose(sent);
      path.focus();
    });
    const date = new Date(sent.sentAt);
    const outcome = make('span', { class: 'history__outcome' });
    const isOfEarlierPage = sent.sentAt < performance.timeOrigin;
    showOutcome(outcome, sent.outcome || (isOfEarlierPage ? 'outcome unknown' : ''));
    button.append(
      make('strong', {}, [sent.request.method]),
      ' ',
      make('span', { class: 'history__target' }, [toTargetLabel(sent.request, location.origin)]),
      ' ',
      outcome,
      ' ',
      make('time', { class: 'history__time', datetime: date.toISOString() }, [timeOfDay.format(date)]),
    );
    return make('li', {}, [button]);
  };

  find(section, '[data-clear-history]', HTMLButtonElement).addEventListener('click', () => {
    clearHistory(storage);
    show();
    path.focus(); // the button is hidden now
  });
  show();

  return {
    /**
     * @param {ComposedRequest} request
     * @param {number} sentAt In ms since the epoch.
     */
    add(request, sentAt) {
      if (addToHistory(storage, request, sentAt)) claimStorage(storage);
      show();
      return {
        /** @param {Outcome} outcome */
        ended(outcome) {
          const words = toOutcomeLabel(outcome);
          const isStored = recordOutcome(storage, sentAt, words);
          // Keep the list items, because one of them may have the focus.
          if (isStored) showOutcome(find(list, '.history__outcome', HTMLElement), words);
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
function showOutcome(place, words) {
  place.textContent = words;
  place.classList.toggle('history__outcome--bad', !/^[123]\d\d$/.test(words));
}
