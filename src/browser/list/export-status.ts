/** The progress and outcome of an export, shown near its link. */
import { make, makeButton } from '../elements.ts';
import { formatItems } from './item-names.ts';

const SHOW_EACH_MS = 200;
const ANNOUNCE_EACH_MS = 10_000;

/**
 * Creates the status of an export, replacing any earlier status for the same link.
 * @param stop Called by the *Stop* button.
 */
export function createExportStatus(link: HTMLAnchorElement, place: HTMLElement, stop: () => void) {
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

  const showAndAnnounce = (words: string) => {
    text.textContent = words;
    announcer.announce(words);
  };
  const count = createCountDisplay(
    (items) => (text.textContent = `${label} export: ${formatItems(items)}…`),
    (items) => announcer.announce(`${label} export: ${formatItems(items)} so far`),
  );

  /** Shows the outcome. If *Stop* had the focus, moves the focus to the first of `buttons`, or back to the link. */
  const finish = (words: string, buttons: HTMLElement[] = []) => {
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
    showCount: (items: number) => count.set(items),
    end: (words: string) => finish(words),
    fail(words: string) {
      line.classList.add('export-line--failed');
      const tryAgain = makeButton('Try again', () => link.click(), {
        'aria-label': `Try again: ${label} export`,
      });
      finish(words, [tryAgain]);
    },
  };
}

/** Replaces the line of the previous export. If a button in that line had the focus, focuses the button in the new line. */
function putInto(place: HTMLElement, line: HTMLElement, label: string) {
  const earlier = place.querySelector(`[data-of="${label}"]`);
  const hadFocus = earlier?.contains(document.activeElement) === true;
  if (earlier === null) place.append(line);
  else earlier.replaceWith(line);
  if (hadFocus) line.querySelector('button')?.focus();
}

/**
 * Announces messages to screen readers through the live region of the list, which all its exports share. A live region must be
 * in the page before its text.
 */
function createAnnouncer(place: HTMLElement) {
  const region = place.parentElement?.querySelector('[data-export-announcement]');
  let own = '';
  return {
    announce(words: string) {
      own = words;
      if (region) region.textContent = words;
    },
    /** Clears the message, unless it came from another export. */
    clear() {
      if (region?.textContent === own) region.textContent = '';
    },
  };
}

/** Updates the displayed count five times a second and announces it every ten seconds. */
function createCountDisplay(show: (items: number) => void, announce: (items: number) => void) {
  let count = 0;
  let announcedAt = performance.now();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const showNow = () => {
    timer = undefined;
    show(count);
    if (performance.now() - announcedAt < ANNOUNCE_EACH_MS) return;
    announcedAt = performance.now();
    announce(count);
  };

  return {
    set(items: number) {
      count = items;
      timer ??= setTimeout(showNow, SHOW_EACH_MS);
    },
    end: () => clearTimeout(timer),
  };
}
