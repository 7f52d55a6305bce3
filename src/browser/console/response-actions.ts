/** The actions below a response: sign in, fetch the next page of a list, copy or save the body. */
import { createTemporaryUrl } from '../blob-url.ts';
import { make, makeButton } from '../elements.ts';
import { signInUrl } from '../sign-in.ts';
import { isJsonType } from './body-text.ts';
import type { ComposedRequest } from './request-rules.ts';

export interface ActionListeners {
  readonly onFollow: (request: ComposedRequest) => void;
  readonly onCopy: (body: Blob) => void;
}

/** Returns the buttons and links that a response offers, such as requesting the next page. */
export function toActions(
  {
    body,
    contentType,
    json,
    request,
    needsSignIn,
  }: {
    readonly body: Blob;
    /** Empty for a response without the header. */ readonly contentType: string;
    /** The value of a complete JSON body. */ readonly json: unknown;
    readonly request: ComposedRequest;
    readonly needsSignIn: boolean;
  },
  { onFollow, onCopy }: ActionListeners,
): HTMLElement[] {
  const cursor = cursorOf(json);
  const signIn = () =>
    make('a', { class: 'button button--primary', href: signInUrl() }, ['Sign in and return here']);
  const follow = (next: string) =>
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
 * @param heading Takes the focus at the end of the list.
 */
export function replaceActions(
  place: HTMLElement,
  actions: readonly HTMLElement[],
  heading: HTMLElement,
  focusOptions: FocusOptions,
) {
  const hadFocus = place.contains(document.activeElement);
  place.replaceChildren(...actions);
  if (!hadFocus) return;
  (actions.find((action) => 'follow' in action.dataset) ?? heading).focus(focusOptions);
}

/** Returns the cursor of the next page (service interface, section 4.5), or null on the last page. */
function cursorOf(json: unknown) {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || !Object.hasOwn(json, 'next'))
    return null;
  const { next } = json as { next: unknown };
  return typeof next === 'string' && next !== '' ? next : null;
}

/** Returns the request for the next page. The interface requires the same `limit` on every page. */
function withCursor(request: ComposedRequest, cursor: string): ComposedRequest {
  return { ...request, query: [...request.query.filter(([name]) => name !== 'next'), ['next', cursor]] };
}

/** Creates a link that saves the body in a file named after the last segment of the path. */
function toSaveLink(body: Blob, path: string, contentType: string) {
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
