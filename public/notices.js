/** Short messages of the page's scripts, above the content. A screen reader reads each once it appears. */

import { make, makeButton } from './elements.js';

/**
 * A link to a path of ours, or a button.
 * @typedef {{ readonly label: string, readonly href: string }
 *   | { readonly label: string, readonly press: () => void }} NoticeAction
 */

/** @returns {HTMLElement | null} */
const place = () => document.querySelector('[data-notices]');

/**
 * Shows a notice, in the place of an earlier one of the same name. Text is shown as it is, never as markup.
 * @param {string} name
 * @param {string} text
 * @param {readonly NoticeAction[]} [actions]
 * @returns {HTMLElement} The notice, its words in a paragraph.
 */
export function showNotice(name, text, actions = []) {
  hideNotice(name);
  const notice = make('div', { class: 'notice', 'data-notice': name }, [
    make('p', {}, [text]),
    ...actions.map(toControl),
  ]);
  place()?.append(notice);
  return notice;
}

/** @param {string} name */
export function hideNotice(name) {
  place()?.querySelector(`[data-notice="${name}"]`)?.remove();
}

/** @param {NoticeAction} action */
function toControl(action) {
  return 'href' in action
    ? make('a', { class: 'button', href: action.href }, [action.label])
    : makeButton(action.label, action.press, { class: 'button' });
}
