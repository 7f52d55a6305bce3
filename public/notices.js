/** Short messages above the content, which screen readers announce. */

import { make, makeButton } from './elements.js';

/**
 * A link to a path on this origin, or a button.
 * @typedef {{ readonly label: string, readonly href: string }
 *   | { readonly label: string, readonly press: () => void }} NoticeAction
 */

/** @returns {HTMLElement | null} */
const place = () => document.querySelector('[data-notices]');

/**
 * Shows a notice, replacing any earlier notice with the same name.
 * @param {string} name
 * @param {string} text
 * @param {readonly NoticeAction[]} [actions]
 * @returns {HTMLElement} The notice, with its text in a paragraph.
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
