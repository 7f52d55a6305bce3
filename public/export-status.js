/** The progress and outcome of an export, shown near its link. */
import { make, makeButton } from './elements.js';
import { formatItems } from './item-names.js';

const SHOW_EACH_MS = 200;
const ANNOUNCE_EACH_MS = 10_000;

/**
 * Creates the status of an export, replacing any earlier status for the same link.
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 * @param {() => void} stop Called by the *Stop* button.
 */
export function createExportStatus(link, place, stop) {
  const label = link.dataset['export'] ?? '';
  const text = make('span');
  const stopButton = makeButton('Stop', stop, { 'aria-label': `Stop the ${label} export` });
  const dismissButton = makeButton('Dismiss', () => dismiss(), {
    'aria-label': `Dismiss the ${label} export message`,
  });
  const controls = make('span', { class: 'export-line__controls' }, [stopButton]);
  const line = make('span', { class: 'export-line', 'data-of': label }, [text, controls]);
  putInto(place, line, label);
  const announcer = createAnnouncer(place);

  /** @param {string} words */
  const showAndAnnounce = (words) => {
    text.textContent = words;
    announcer.announce(words);
  };
  const count = createCountDisplay(
    (items) => (text.textContent = `${label} export: ${formatItems(items)}…`),
    (items) => announcer.announce(`${label} export: ${formatItems(items)} so far`),
  );

  /**
   * Shows the outcome. If *Stop* had the focus, moves the focus to the first of `buttons`, or back to the link.
   * @param {string} words
   * @param {HTMLElement[]} buttons
   */
  const finish = (words, buttons = []) => {
    const hadFocus = stopButton === document.activeElement;
    count.end();
    showAndAnnounce(words);
    controls.replaceChildren(...buttons, dismissButton);
    if (hadFocus) (buttons[0] ?? link).focus();
  };

  const dismiss = () => {
    line.remove();
    announcer.clear();
    link.focus();
  };

  showAndAnnounce(`${label} export started…`);
  return {
    /** @param {number} items */
    showCount: (items) => count.set(items),
    /** @param {string} words */
    end: (words) => finish(words),
    /** @param {string} words */
    fail(words) {
      line.classList.add('export-line--failed');
      const tryAgain = makeButton('Try again', () => link.click(), {
        'aria-label': `Try again: ${label} export`,
      });
      finish(words, [tryAgain]);
    },
  };
}

/**
 * Replaces the line of the previous export. If a button in that line had the focus, focuses the button in the new line.
 * @param {HTMLElement} place
 * @param {HTMLElement} line
 * @param {string} label
 */
function putInto(place, line, label) {
  const earlier = place.querySelector(`[data-of="${label}"]`);
  const hadFocus = earlier?.contains(document.activeElement) === true;
  if (earlier === null) place.append(line);
  else earlier.replaceWith(line);
  if (hadFocus) line.querySelector('button')?.focus();
}

/**
 * Announces messages to screen readers through the live region of the list, which all its exports share. A live region must be
 * in the page before its text.
 * @param {HTMLElement} place
 */
function createAnnouncer(place) {
  const region = place.parentElement?.querySelector('[data-export-announcement]');
  let own = '';
  return {
    /** @param {string} words */
    announce(words) {
      own = words;
      if (region) region.textContent = words;
    },
    /** Clears the message, unless it came from another export. */
    clear() {
      if (region?.textContent === own) region.textContent = '';
    },
  };
}

/**
 * Updates the displayed count five times a second and announces it every ten seconds.
 * @param {(items: number) => void} show
 * @param {(items: number) => void} announce
 */
function createCountDisplay(show, announce) {
  let count = 0;
  let announcedAt = performance.now();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const showNow = () => {
    timer = undefined;
    show(count);
    if (performance.now() - announcedAt < ANNOUNCE_EACH_MS) return;
    announcedAt = performance.now();
    announce(count);
  };

  return {
    /** @param {number} items */
    set(items) {
      count = items;
      timer ??= setTimeout(showNow, SHOW_EACH_MS);
    },
    end: () => clearTimeout(timer),
  };
}
