/**
 * Exports without leaving the page: a count of items as they come, a way to stop, and a file only when it is whole. Without
 * this script the links are plain downloads.
 */
import { fetchFile, Refused, saveFile, SignInNeeded } from './download.js';
import { createLineCount, createRecordCount } from './item-counts.js';

const SHOW_EACH_MS = 200;
const SAY_EACH_MS = 10_000;

/** Exports under way on this page: to leave it would end them. */
let underWay = 0;

/**
 * Takes over every link under `root` that is marked as an export.
 * @param {ParentNode} root
 */
export function startExports(root) {
  for (const link of root.querySelectorAll('a[data-export]')) {
    const place = link.closest('[data-exports]')?.querySelector('[data-export-progress]');
    if (link instanceof HTMLAnchorElement && place instanceof HTMLElement) takeOver(link, place);
  }
}

/**
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 */
function takeOver(link, place) {
  let isBusy = false;
  link.addEventListener('click', (event) => {
    // With one of these keys a click is the browser's.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    void run(link, place).finally(() => (isBusy = false));
  });
}

/**
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 */
async function run(link, place) {
  const progress = createProgress(link, place);
  const { pathname } = new URL(link.href);
  const count = pathname.endsWith('.csv') ? createRecordCount() : createLineCount();
  let items = 0;
  keepPage();
  const fetched = fetchFile(link.href, progress.signal, (bytes) => {
    items = count(bytes);
    progress.show(items);
  });
  try {
    const file = await fetched.finally(letPageGo);
    saveFile(file);
    progress.end(`${inWords(items)} saved as ${file.name}`);
  } catch (error) {
    if (error instanceof SignInNeeded) goToSignIn();
    else if (progress.signal.aborted) progress.end('Stopped; nothing was saved.');
    else if (error instanceof Refused) progress.fail(error.message);
    else progress.fail(`The export broke off after ${inWords(items)}; nothing was saved.`);
  }
}

function goToSignIn() {
  const here = location.pathname + location.search;
  location.assign(`/auth/login?return_to=${encodeURIComponent(here)}`);
}

/**
 * One export's line beside the links, in the place of an earlier one of the same link.
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 */
function createProgress(link, place) {
  const stopping = new AbortController();
  const label = link.textContent.trim();
  // It was in the page before there was anything to say: screen readers hear nothing of one that comes with its words.
  const said = place.parentElement?.querySelector('[data-export-said]');
  const shown = document.createElement('span');
  const button = toButton('Stop', `Stop the ${label} export`, () => stopping.abort());
  const line = document.createElement('span');
  line.className = 'export-line';
  line.dataset['of'] = label;
  line.append(shown, button);
  const earlier = place.querySelector(`[data-of="${label}"]`);
  const triesAgain = earlier?.contains(document.activeElement) === true;
  if (earlier === null) place.append(line);
  else earlier.replaceWith(line);
  if (triesAgain) button.focus();

  /** @param {string} text */
  const say = (text) => {
    if (said instanceof HTMLElement) said.textContent = text;
  };
  /** @param {string} text */
  const showAndSay = (text) => {
    shown.textContent = text;
    say(text);
  };
  showAndSay(`${label} export begins…`);

  let count = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;
  // A number that changes five times a second is for the eye; it is said rarely.
  let saidAt = performance.now();
  const showCount = () => {
    due = undefined;
    shown.textContent = `${label}: ${inWords(count)}…`;
    if (performance.now() - saidAt < SAY_EACH_MS) return;
    saidAt = performance.now();
    say(`${label}: ${inWords(count)} so far`);
  };

  /**
   * The last words; whoever stands on the button is brought back to the link.
   * @param {string} text
   * @param {HTMLElement[]} controls
   */
  const finish = (text, controls) => {
    const hadFocus = button === document.activeElement;
    clearTimeout(due);
    showAndSay(text);
    button.replaceWith(...controls);
    if (hadFocus) (controls[0] ?? link).focus();
  };

  return {
    signal: stopping.signal,
    /** @param {number} items */
    show(items) {
      count = items;
      due ??= setTimeout(showCount, SHOW_EACH_MS);
    },
    /** @param {string} text */
    end: (text) => finish(text, []),
    /** @param {string} text */
    fail(text) {
      line.classList.add('export-line--failed');
      finish(text, [toButton('Try again', `Try again: ${label} export`, () => link.click())]);
    },
  };
}

/**
 * @param {string} text
 * @param {string} label What a screen reader says.
 * @param {() => void} press
 */
function toButton(text, label, press) {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button button--small';
  button.textContent = text;
  button.setAttribute('aria-label', label);
  button.addEventListener('click', press);
  return button;
}

/** @param {number} items */
function inWords(items) {
  return items === 1 ? '1 item' : `${items.toLocaleString('en-GB')} items`;
}

function keepPage() {
  underWay += 1;
  if (underWay === 1) addEventListener('beforeunload', ask);
}

function letPageGo() {
  underWay -= 1;
  if (underWay === 0) removeEventListener('beforeunload', ask);
}

/**
 * The browser asks whether to leave, in its own words.
 * @param {BeforeUnloadEvent} event
 */
function ask(event) {
  event.preventDefault();
}
