/** The list of requests sent from this tab. */
import { find, make, makeButton } from '../elements.ts';
import { claimStorage } from '../tab-storage.ts';
import { toOutcomeLabel, toTargetLabel } from './history-labels.ts';
import {
  clearHistory,
  recordOutcome,
  readHistory,
  addToHistory,
  type Store,
  type SentRequest,
} from './request-history.ts';
import type { ComposedRequest } from './request-rules.ts';
import type { Outcome } from './send-request.ts';

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });

/** Creates the list of earlier requests. `onChoose` receives the request that the user selects. */
export function createHistoryView(root: ParentNode, storage: Store, onChoose: (sent: SentRequest) => void) {
  const section = find(root, '[data-history]', HTMLElement);
  const list = find(section, '[data-history-items]', HTMLOListElement);
  const path = find(root, '[data-path]', HTMLInputElement);

  const show = () => {
    const history = readHistory(storage);
    section.hidden = history.length === 0;
    list.replaceChildren(...history.map(toItem));
  };

  const toItem = (sent: SentRequest) => {
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
    /** @param sentAt In ms since the epoch. */
    add(request: ComposedRequest, sentAt: number) {
      if (addToHistory(storage, request, sentAt)) claimStorage(storage);
      show();
      return {
        ended(outcome: Outcome) {
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

function showOutcome(place: HTMLElement, words: string) {
  place.textContent = words;
  place.classList.toggle('history__outcome--bad', !/^[123]\d\d$/.test(words));
}
