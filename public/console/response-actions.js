/** The actions below a response: sign in, fetch the next page of a list, copy or save the body. */
import { createTemporaryUrl } from '../blob-url.js';
import { make, makeButton } from '../elements.js';
import { signInUrl } from '../sign-in.js';
import { isJsonType } from './body-text.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/**
 * @typedef {object} ActionListeners
 * @property {(request: ComposedRequest) => void} onFollow
 * @property {(body: Blob) => void} onCopy
 */

/**
 * @param {object} shown
 * @param {Blob} shown.body
 * @param {string} shown.contentType Empty for a response without the header.
 * @param {unknown} shown.json The value of a complete JSON body.
 * @param {ComposedRequest} shown.request
 * @param {boolean} shown.needsSignIn
 * @param {ActionListeners} listeners
 * @returns {HTMLElement[]}
 */
export function toActions({ body, contentType, json, request, needsSignIn }, { onFollow, onCopy }) {
  const cursor = cursorOf(json);
  const signIn = () =>
    make('a', { class: 'button button--primary', href: signInUrl() }, ['Sign in and return here']);
  /** @param {string} next */
  const follow = (next) =>
    makeButton('Next page', () => onFollow(withCursor(request, next)), { 'data-follow': '' });
  const copy = () => makeButton('Copy body', () => onCopy(body));
  return [
    ...(needsSignIn ? [signIn()] : []),
    ...(cursor === null ? [] : [follow(cursor)]),
    ...(body.size === 0 ? [] : [copy(), toSaveLink(body, request.path, contentType)]),
  ];
}

/**
 * Replaces the actions of the previous response. Keeps the focus on *Next page* for users who navigate by keyboard.
 * @param {HTMLElement} place
 * @param {readonly HTMLElement[]} actions
 * @param {HTMLElement} heading Takes the focus at the end of the list.
 * @param {FocusOptions} focusOptions
 */
export function replaceActions(place, actions, heading, focusOptions) {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...actions);
  if (!hadFocus) return;
  (actions.find((action) => 'follow' in action.dataset) ?? heading).focus(focusOptions);
}

/**
 * Returns the cursor of the next page (service interface, section 4.5), or null on the last page.
 * @param {unknown} json
 */
function cursorOf(json) {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || !Object.hasOwn(json, 'next'))
    return null;
  const { next } = /** @type {{ next: unknown }} */ (json);
  return typeof next === 'string' && next !== '' ? next : null;
}

/**
 * Returns the request for the next page. The interface requires the same `limit` on every page.
 * @param {ComposedRequest} request
 * @param {string} cursor
 * @returns {ComposedRequest}
 */
function withCursor(request, cursor) {
  return { ...request, query: [...request.query.filter(([name]) => name !== 'next'), ['next', cursor]] };
}

/**
 * Creates a link that saves the body in a file named after the last segment of the path.
 * @param {Blob} body
 * @param {string} path
 * @param {string} contentType
 */
function toSaveLink(body, path, contentType) {
  const last = /([^/?]+)\/*(?:\?.*)?$/.exec(path)?.[1]?.replaceAll(/[^\w.-]/g, '_') ?? 'response';
  // If the name has no extension, browsers choose one and save JSON as .txt.
  const name = isJsonType(contentType) && !/\.\w+$/.test(last) ? `${last}.json` : last;
  const link = make(
    'a',
    { class: 'button button--small', download: name, href: '#', 'aria-label': `Save body as ${name}` },
    ['Save body'],
  );
  link.addEventListener('click', () => (link.href = createTemporaryUrl(body)));
  return link;
}
