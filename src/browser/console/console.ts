/** The developer console: composes an API request, sends it and shows the response. */
import { contentRemovedSignal } from '../content-removed.ts';
import { find } from '../elements.ts';
import { startPage } from '../page.ts';
import { claimStorage, tabStorage } from '../tab-storage.ts';
import { toCurlCommand, toFetchCode } from './copy-as.ts';
import { createCopying } from './copying.ts';
import { createHistoryView } from './history-view.ts';
import { clearDraft, saveDraft, readDraft } from './request-draft.ts';
import { createRequestForm } from './request-form.ts';
import { validateRequest, toUrl, type ComposedRequest } from './request-rules.ts';
import { createResponseView } from './response-view.ts';
import { sendRequest } from './send-request.ts';
import { watchWireSize } from './wire-size.ts';

const FILLED_IN = 'Request loaded. Select Send to send it.';
const FILLED_IN_WITHOUT_BODY =
  'Request loaded without its body, which was too long to keep. Add the body, then select Send.';

function startConsole(root: HTMLElement) {
  const { origin } = location;
  const storage = tabStorage();
  const form = createRequestForm(find(root, '[data-request]', HTMLFormElement), origin);
  const copying = createCopying(find(root, '[data-request]', HTMLFormElement));
  const copyingBody = createCopying(find(root, '[data-response]', HTMLElement));
  const response = createResponseView(root, {
    onFollow: (request) => {
      form.fill(request);
      void sendForm();
    },
    onCopy: (body) => void copyingBody.copyBlob('The body', body),
  });
  const history = createHistoryView(root, storage, ({ request, isWhole }) => {
    form.fill(request);
    form.showStatus(isWhole ? FILLED_IN : FILLED_IN_WITHOUT_BODY);
  });
  const draft = readDraft(storage);
  if (draft !== null) form.fill(draft.request);
  if (draft?.isWhole === false) form.showStatus(FILLED_IN_WITHOUT_BODY);
  const buttons = createSendButtons(root);
  let wireSize: ReturnType<typeof watchWireSize> | undefined;

  /** Reads the form and shows its issues. Returns null if an issue blocks the request. */
  const readForm = () => {
    const request = form.read();
    const issues = validateRequest(request, origin);
    form.show(issues);
    return issues.some(({ isBlocking }) => isBlocking) ? null : request;
  };

  const sendForm = async () => {
    if (buttons.isUnderWay()) return;
    copying.clear();
    const request = readForm();
    if (request === null) {
      response.refused();
      return;
    }
    const signal = AbortSignal.any([buttons.begin(), contentRemovedSignal]);
    try {
      await exchange(request, signal);
    } catch (error) {
      response.failed();
      reportError(error); // to the developer tools
    } finally {
      buttons.end();
    }
  };

  const exchange = async (request: ComposedRequest, signal: AbortSignal) => {
    const sent = history.add(request, Date.now());
    clearDraft(storage);
    response.waiting(request);
    copyingBody.clear();
    wireSize?.stop();
    wireSize = watchWireSize(toUrl(request, origin)?.href ?? '');
    const outcome = await sendRequest(request, { origin, signal, onProgress: response.progress });
    sent.ended(outcome);
    await response.show(outcome, request);
    wireSize.whenKnown(response.wireSize);
  };

  form.onSend(() => void sendForm());
  form.onChange(() => {
    copying.clear(); // the form no longer matches the copied request
    if (saveDraft(storage, form.read())) claimStorage(storage);
  });
  const cookieName = root.dataset['cookieName'] ?? '';
  form.onCopy((format) => {
    copying.clear();
    const request = readForm();
    if (request === null) return;
    if (format === 'curl') void copying.copy('The curl command', toCurlCommand(request, origin, cookieName));
    else void copying.copy('The fetch code', toFetchCode(request, origin));
  });
}

/** Controls the *Send* and *Cancel* buttons. Only one request is in flight at a time. */
function createSendButtons(root: ParentNode) {
  const sendButton = find(root, '[data-send]', HTMLButtonElement);
  const cancelButton = find(root, '[data-cancel]', HTMLButtonElement);
  let underWay: AbortController | null = null;
  cancelButton.addEventListener('click', () => underWay?.abort());

  return {
    isUnderWay: () => underWay !== null,
    /** @returns Aborted by *Cancel*. */
    begin(): AbortSignal {
      underWay = new AbortController();
      cancelButton.hidden = false;
      sendButton.setAttribute('aria-disabled', 'true'); // `disabled` would lose the focus
      return underWay.signal;
    },
    end() {
      underWay = null;
      sendButton.removeAttribute('aria-disabled');
      if (document.activeElement === cancelButton) sendButton.focus();
      cancelButton.hidden = true;
    },
  };
}

startPage();
startConsole(find(document, '[data-console]', HTMLElement));
