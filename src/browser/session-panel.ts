/** Covers the content of a page or replaces it with a panel that gives the reason. */
import { announceContentRemoved } from './content-removed.ts';
import { make, makeButton } from './elements.ts';
import { signInUrl } from './sign-in.ts';
import { tabStorage } from './tab-storage.ts';

const ENDED = {
  title: 'Your session has ended',
  text: 'We’ve hidden this page to protect it. Sign in again to return to it.',
  action: 'Sign in again',
};

const PANELS = {
  ended: ENDED,
  signedOutElsewhere: {
    title: 'You signed out in another tab',
    text: 'We’ve hidden this page to protect it. Sign in to return to it.',
    action: 'Sign in',
  },
  signedOut: { ...ENDED, title: 'You have signed out', action: 'Sign in' },
  anotherSession: {
    title: 'You signed in again in another tab',
    text: 'We’ve hidden this page because it belongs to an earlier sign-in. Reload it to continue.',
    action: 'Reload this page',
  },
};

type PanelName = keyof typeof PANELS;

const content = () => document.querySelector('main');

/** Removes the content permanently, because another person may be using the browser. Shows a panel instead. */
export function removeContent(name: PanelName) {
  const main = content();
  if (main === null || main.dataset['panel'] === name) return;
  announceContentRemoved();
  const { title, text, action } = PANELS[name];
  const isSignedOut = name !== 'anotherSession';
  const heading = make('h1', { tabindex: '-1' }, [title]);
  const style = { class: 'button button--primary' };
  const control = isSignedOut
    ? make('a', { ...style, href: signInUrl() }, [action])
    : makeButton(action, () => location.reload(), style);
  const panel = make('section', { class: 'error' }, [
    heading,
    make('p', { class: 'lead' }, [text]),
    make('p', { class: 'actions' }, [control]),
  ]);

  for (const notice of document.querySelectorAll('[data-notice]:not([data-notice="offline"])'))
    notice.remove();
  for (const part of document.querySelectorAll('.site-header nav, .site-header form'))
    part.toggleAttribute('hidden', isSignedOut);
  document.title = `${title} · Cloakroom`;
  main.replaceChildren(panel);
  main.dataset['panel'] = name;
  delete main.dataset['covered'];
  heading.focus();
  tabStorage().clear();
}

let lastFocus: HTMLElement | null = null;
let lastScrollY = 0;

/** Hides the content until a check has shown that the session is active. */
export function coverContent() {
  const main = content();
  if (main === null || 'panel' in main.dataset || 'covered' in main.dataset) return;
  lastFocus = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  lastScrollY = scrollY; // the covered page is short, and scrolls to its top
  const heading = make('h1', {}, ['Checking that you are still signed in…']);
  main.append(make('section', { class: 'error checking' }, [heading]));
  main.dataset['covered'] = '';
}

/** Shows the content again, with its scroll position and focus. */
export function uncoverContent() {
  const main = content();
  if (main === null || !('covered' in main.dataset)) return;
  main.querySelector(':scope > .checking')?.remove();
  delete main.dataset['covered'];
  scrollTo({ top: lastScrollY, behavior: 'instant' });
  lastFocus?.focus({ preventScroll: true });
}
