/** Short messages of the page's scripts, above the content. A screen reader reads each once it appears. */

/**
 * @typedef {object} NoticeAction
 * @property {string} label
 * @property {string} [href] A path of ours; without one it is a button.
 * @property {() => void} [press]
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
  const notice = document.createElement('div');
  notice.className = 'notice';
  notice.dataset['notice'] = name;
  const words = document.createElement('p');
  words.textContent = text;
  notice.append(words, ...actions.map(toControl));
  place()?.append(notice);
  return notice;
}

/** @param {string} name */
export function hideNotice(name) {
  place()?.querySelector(`[data-notice="${name}"]`)?.remove();
}

/** @param {NoticeAction} action */
function toControl({ label, href, press }) {
  const control = document.createElement(href === undefined ? 'button' : 'a');
  control.className = 'button';
  control.textContent = label;
  if (href !== undefined) control.setAttribute('href', href);
  else control.setAttribute('type', 'button');
  if (press !== undefined) control.addEventListener('click', press);
  return control;
}
