/** What can be done with an answer: sign in, follow its list, copy or save its body. */
import { make, makeButton } from '../elements.js';
import { signInAddress } from '../sign-in.js';
import { nextOf, withNext } from './next-page.js';
import { toSaveLink } from './save-link.js';

/**
 * @typedef {object} ActionListeners
 * @property {(request: import('./request-rules.js').ComposedRequest) => void} onFollow
 * @property {(body: Blob) => void} onCopy
 */

/**
 * @param {object} shown
 * @param {Blob} shown.body
 * @param {string} shown.contentType Of its header; empty where there was none.
 * @param {unknown} shown.json What the body holds, where it is JSON.
 * @param {import('./request-rules.js').ComposedRequest} shown.request
 * @param {boolean} shown.asksToSignIn
 * @param {ActionListeners} listeners
 * @returns {HTMLElement[]}
 */
export function toActions({ body, contentType, json, request, asksToSignIn }, { onFollow, onCopy }) {
  const next = nextOf(json);
  const signIn = () =>
    make('a', { class: 'button button--primary', href: signInAddress() }, ['Sign in and come back']);
  /** @param {string} token */
  const follow = (token) =>
    makeButton('Follow next', () => onFollow(withNext(request, token)), { 'data-follow': '' });
  const copy = () => makeButton('Copy the body', () => onCopy(body));
  return [
    ...(asksToSignIn ? [signIn()] : []),
    ...(next === null ? [] : [follow(next)]),
    ...(body.size === 0 ? [] : [copy(), toSaveLink(body, request.path, contentType)]),
  ];
}

/**
 * Puts actions in the place of those of the answer before. Whoever follows a list by keyboard goes on from the same place.
 * @param {HTMLElement} place
 * @param {readonly HTMLElement[]} actions
 * @param {HTMLElement} heading Takes the focus where the list is at its end.
 * @param {FocusOptions} focusing
 */
export function replaceActions(place, actions, heading, focusing) {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...actions);
  if (!hadFocus) return;
  (actions.find((action) => 'follow' in action.dataset) ?? heading).focus(focusing);
}
