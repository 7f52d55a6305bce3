/** What stands in a page's place once its session is over, or while nobody knows. */
import { make, makeButton } from './elements.js';
import { announcePutAway } from './content-removed.js';
import { signInAddress } from './sign-in.js';
import { tabStorage } from './tab-storage.js';

const ENDED = {
  title: 'Your session has ended',
  text: 'This page is hidden. Sign in again to return to it.',
  action: 'Sign in again',
};

const PANELS = {
  ended: ENDED,
  signedOutElsewhere: {
    title: 'You signed out in another tab',
    text: 'This page is hidden. Sign in to return to it.',
    action: 'Sign in',
  },
  signedOut: { ...ENDED, title: 'You have signed out', action: 'Sign in' },
  anotherSession: {
    title: 'You signed in again in another tab',
    text: 'This page is from an earlier sign-in, so it is hidden. Reload it to continue.',
    action: 'Load this page again',
  },
};

/** @typedef {keyof typeof PANELS} PanelName */

const content = () => document.querySelector('main');

/**
 * Takes the page's content away for good, for somebody else may sit here now, and says why.
 * @param {PanelName} name
 */
export function putContentAway(name) {
  const main = content();
  if (main === null || main.dataset['panel'] === name) return;
  announcePutAway();
  const { title, text, action } = PANELS[name];
  const isSignedOut = name !== 'anotherSession';
  const heading = make('h1', { tabindex: '-1' }, [title]);
  const panel = make('section', { class: 'error' }, [
    heading,
    make('p', { class: 'lead' }, [text]),
    make('p', { class: 'actions' }, [isSignedOut ? toSignIn(action) : toReload(action)]),
  ]);

  document.querySelectorAll('[data-notice]:not([data-notice="offline"])').forEach((one) => one.remove());
  document.querySelectorAll('.site-header nav, .site-header form').forEach((part) => {
    part.toggleAttribute('hidden', isSignedOut);
  });
  document.title = `${title} · Cloakroom`;
  main.replaceChildren(panel);
  main.dataset['panel'] = name;
  delete main.dataset['concealed'];
  heading.focus();
  tabStorage().clear(); // what the page remembers for this tab is no less theirs
}

/** @param {string} label */
function toSignIn(label) {
  return make('a', { class: 'button button--primary', href: signInAddress() }, [label]);
}

/** @param {string} label */
function toReload(label) {
  return makeButton(label, () => location.reload(), { class: 'button button--primary' });
}

/** @type {HTMLElement | null} */
let hadFocus = null;

/** Hides the page's content until it is known whether it may be seen; nothing of it is lost. */
export function concealContent() {
  const main = content();
  if (main === null || 'panel' in main.dataset || 'concealed' in main.dataset) return;
  hadFocus = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  const words = make('h1', {}, ['Checking that you are still signed in…']);
  main.append(make('section', { class: 'error checking' }, [words]));
  main.dataset['concealed'] = '';
}

/** Shows it again as it was. */
export function revealContent() {
  const main = content();
  if (main === null || !('concealed' in main.dataset)) return;
  main.querySelector(':scope > .checking')?.remove();
  delete main.dataset['concealed'];
  hadFocus?.focus({ preventScroll: true });
}
