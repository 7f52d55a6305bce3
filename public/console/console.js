/** The developer console: composes a call of the API, sends it, shows what came of it. */
import { find } from '../elements.js';
import { claimStorage } from '../own-storage.js';
import { putAwaySignal } from '../content-removed.js';
import { tabStorage } from '../tab-storage.js';
import { createAnswerView } from './response-view.js';
import { send } from './send-request.js';
import { createCopying } from './copying.js';
import { toCurlCommand, toFetchCode } from './copy-as.js';
import { createHistoryView } from './history-view.js';
import { forgetDraft, keepDraft, readDraft } from './request-draft.js';
import { createRequestForm } from './request-form.js';
import { faultsOf, toAddress } from './request-rules.js';
import { createSendButtons } from './send-buttons.js';
import { watchWireSize } from './wire-size.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

const FILLED = 'Filled in: press Send.';
const FILLED_WITHOUT_BODY =
  'Filled in but for its body, which was too long to keep: add it, then press Send.';

/** @param {HTMLElement} root */
function startConsole(root) {
  const { origin } = location;
  const storage = tabStorage();
  const form = createRequestForm(find(root, '[data-request]', HTMLFormElement), origin);
  const copying = createCopying(find(root, '[data-request]', HTMLFormElement));
  const copyingBody = createCopying(find(root, '[data-answer]', HTMLElement));
  const answer = createAnswerView(root, {
    onFollow: (request) => {
      form.fill(request);
      void sendForm();
    },
    onCopy: (body) => void copyingBody.copyBlob('The body', body),
  });
  const history = createHistoryView(root, storage, ({ request, isWhole }) => {
    form.fill(request);
    form.say(isWhole ? FILLED : FILLED_WITHOUT_BODY);
  });
  const draft = readDraft(storage);
  if (draft !== null) form.fill(draft.request);
  if (draft?.isWhole === false) form.say(FILLED_WITHOUT_BODY);
  const buttons = createSendButtons(root);
  /** @type {ReturnType<typeof watchWireSize> | undefined} */
  let wireSize;

  /** What stands in the form; null where that can't be sent, which is then said there. */
  const readForm = () => {
    const request = form.read();
    const faults = faultsOf(request, origin);
    form.show(faults);
    return faults.some(({ stops }) => stops) ? null : request;
  };

  const sendForm = async () => {
    if (buttons.isUnderWay()) return;
    copying.forget();
    const request = readForm();
    if (request === null) {
      answer.refused();
      return;
    }
    const signal = AbortSignal.any([buttons.begin(), putAwaySignal]);
    try {
      await exchange(request, signal);
    } catch (error) {
      answer.failed();
      reportError(error); // to the developer tools
    } finally {
      buttons.end();
    }
  };

  /**
   * @param {ComposedRequest} request
   * @param {AbortSignal} signal
   */
  const exchange = async (request, signal) => {
    const past = history.add(request, Date.now());
    forgetDraft(storage);
    answer.waiting(request);
    copyingBody.forget();
    wireSize?.stop();
    wireSize = watchWireSize(toAddress(request, origin)?.href ?? '');
    const outcome = await send(request, { origin, signal, onProgress: answer.progress });
    past.ended(outcome);
    await answer.show(outcome, request);
    wireSize.whenKnown(answer.wireSize);
  };

  form.onSend(() => void sendForm());
  form.onChange(() => {
    copying.forget(); // what was copied is another request
    if (keepDraft(storage, form.read())) claimStorage(storage);
  });
  const cookieName = root.dataset['cookieName'] ?? '';
  form.onCopy((as) => {
    copying.forget();
    const request = readForm();
    if (request === null) return;
    if (as === 'curl') void copying.copy('The curl command', toCurlCommand(request, origin, cookieName));
    else void copying.copy('The fetch call', toFetchCode(request, origin));
  });
}

const root = document.querySelector('[data-console]');
if (root instanceof HTMLElement) startConsole(root);
