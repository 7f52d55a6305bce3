/** The buttons that send a request and cancel it: one request is under way at a time. */
import { find } from '../elements.js';

/** @param {ParentNode} root */
export function createSendButtons(root) {
  const sendButton = find(root, '[data-send]', HTMLButtonElement);
  const cancelButton = find(root, '[data-cancel]', HTMLButtonElement);
  /** @type {AbortController | null} */
  let underWay = null;
  cancelButton.addEventListener('click', () => underWay?.abort());

  return {
    isUnderWay: () => underWay !== null,
    /** @returns {AbortSignal} Aborted where somebody cancels the request. */
    begin() {
      underWay = new AbortController();
      cancelButton.hidden = false;
      sendButton.setAttribute('aria-disabled', 'true'); // not `disabled`: it keeps the focus
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
