/** The developer console: composes a call of the API, sends it, shows what came of it. */
import { createAnswerView } from './answer-view.js';
import { send } from './call.js';
import { createCopying } from './copying.js';
import { toCurlCommand, toFetchCode } from './copy-as.js';
import { find } from '../elements.js';
import { createHistoryView } from './history-view.js';
import { createRequestForm } from './request-form.js';
import { faultsOf, toAddress } from './request-rules.js';
import { watchWireSize } from './wire-size.js';

/** @param {HTMLElement} root */
function startConsole(root) {
  const { origin } = location;
  const form = createRequestForm(find(root, '[data-request]', HTMLFormElement), origin);
  const answer = createAnswerView(root);
  const copying = createCopying(root);
  const history = createHistoryView(root, sessionStorage, (request) => form.fill(request));
  const cancelButton = find(root, '[data-cancel]', HTMLButtonElement);
  const sendButton = find(root, '[data-send]', HTMLButtonElement);
  /** @type {AbortController | null} */
  let underWay = null;

  /** What stands in the form; null where that can't be sent, which is then said there. */
  const readForm = () => {
    const request = form.read();
    const faults = faultsOf(request, origin);
    form.show(faults);
    return faults.some(({ stops }) => stops) ? null : request;
  };

  const sendForm = async () => {
    if (underWay !== null) return;
    const request = readForm();
    if (request === null) {
      answer.refused();
      return;
    }
    const call = (underWay = new AbortController());
    history.add(request);
    answer.waiting(request);
    cancelButton.hidden = false;
    sendButton.setAttribute('aria-disabled', 'true');
    const wireSize = watchWireSize(toAddress(request, origin)?.href ?? '');
    const outcome = await send(request, {
      origin,
      signal: call.signal,
      onProgress: (bytes) => answer.progress(bytes),
    });
    await answer.show(outcome, request);
    underWay = null;
    sendButton.removeAttribute('aria-disabled');
    if (document.activeElement === cancelButton) sendButton.focus();
    cancelButton.hidden = true;
    wireSize((bytes) => answer.wireSize(bytes));
  };

  form.onSend(() => void sendForm());
  cancelButton.addEventListener('click', () => underWay?.abort());
  answer.onFollow((request) => {
    form.fill(request);
    void sendForm();
  });
  answer.onCopy((text) => void copying.copy('The body', text));
  const cookieName = root.dataset['cookieName'] ?? '';
  form.onCopy((as) => {
    const request = readForm();
    if (request === null) return;
    if (as === 'curl') void copying.copy('The curl command', toCurlCommand(request, origin, cookieName));
    else void copying.copy('The fetch call', toFetchCode(request, origin));
  });
}

const root = document.querySelector('[data-console]');
if (root instanceof HTMLElement) startConsole(root);
