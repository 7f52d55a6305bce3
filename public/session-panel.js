/** What stands in a page's place once its session is over, or while nobody knows. */

const ENDED = {
  title: 'Your session has ended',
  text: 'What this page showed is put away. Sign in again to come back to it.',
  action: 'Sign in again',
};

const PANELS = {
  ended: ENDED,
  signedOutElsewhere: {
    title: 'You signed out in another tab',
    text: 'What this page showed is put away. Sign in to come back to it.',
    action: 'Sign in',
  },
  signedOut: { ...ENDED, title: 'You have signed out', action: 'Sign in' },
  anotherSession: {
    title: 'You signed in again in another tab',
    text: 'This page is from the sign-in before, so what it showed is put away. Load it again to go on.',
    action: 'Load this page again',
  },
};

/** @typedef {keyof typeof PANELS} PanelName */

/** The address that begins sign-in and comes back to just this page, its fragment included. */
export function signInAddress() {
  const { pathname, search, hash } = location;
  return `/auth/login?return_to=${encodeURIComponent(pathname + search + hash)}`;
}

const content = () => document.querySelector('main');

/**
 * Takes the page's content away for good, for somebody else may sit here now, and says why.
 * @param {PanelName} name
 */
export function replaceContent(name) {
  const main = content();
  if (main === null || main.dataset['panel'] === name) return;
  const { title, text, action } = PANELS[name];
  const isSignedOut = name !== 'anotherSession';
  const heading = document.createElement('h1');
  heading.textContent = title;
  heading.tabIndex = -1;
  const words = document.createElement('p');
  words.className = 'lead';
  words.textContent = text;
  const actions = document.createElement('p');
  actions.className = 'actions';
  actions.append(isSignedOut ? toSignIn(action) : toReload(action));
  const panel = document.createElement('section');
  panel.className = 'error';
  panel.append(heading, words, actions);

  document.querySelectorAll('[data-notice]:not([data-notice="offline"])').forEach((one) => one.remove());
  document.querySelectorAll('.site-header nav, .site-header form').forEach((part) => {
    part.toggleAttribute('hidden', isSignedOut);
  });
  document.title = `${title} · Cloakroom`;
  main.replaceChildren(panel);
  sessionStorage.clear(); // what the page remembers for this tab is no less theirs
  main.dataset['panel'] = name;
  delete main.dataset['concealed'];
  heading.focus();
}

/** @param {string} label */
function toSignIn(label) {
  const link = document.createElement('a');
  link.className = 'button button--primary';
  link.href = signInAddress();
  link.textContent = label;
  return link;
}

/** @param {string} label */
function toReload(label) {
  const button = document.createElement('button');
  button.className = 'button button--primary';
  button.type = 'button';
  button.textContent = label;
  button.addEventListener('click', () => location.reload());
  return button;
}

/** @type {HTMLElement | null} */
let hadFocus = null;

/** Hides the page's content until it is known whether it may be seen; nothing of it is lost. */
export function concealContent() {
  const main = content();
  if (main === null || 'panel' in main.dataset || 'concealed' in main.dataset) return;
  hadFocus = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  const words = document.createElement('h1');
  words.textContent = 'Checking that you are still signed in…';
  const panel = document.createElement('section');
  panel.className = 'error checking';
  panel.append(words);
  main.append(panel);
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
