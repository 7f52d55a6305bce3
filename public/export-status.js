/** What an export says of itself beside its link: how far it is, and how it ended. */
import { counted } from './counts.js';
import { make, makeButton } from './elements.js';

const SHOW_EACH_MS = 200;
const SAY_EACH_MS = 10_000;

/**
 * One export's line, in the place of an earlier one of the same link.
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 * @param {() => void} stop Called by its button.
 */
export function createExportLine(link, place, stop) {
  const label = link.dataset['export'] ?? '';
  const shown = make('span');
  const button = makeButton('Stop', stop, { 'aria-label': `Stop the ${label} export` });
  const dismiss = makeButton('Dismiss', () => close(), { 'aria-label': `Dismiss: ${label} export` });
  const controls = make('span', { class: 'export-line__controls' }, [button]);
  const line = make('span', { class: 'export-line', 'data-of': label }, [shown, controls]);
  putIn(place, line, label);
  const voice = createVoice(place);

  /** @param {string} text */
  const showAndSay = (text) => {
    shown.textContent = text;
    voice.say(text);
  };
  const count = createCountDisplay(
    (items) => (shown.textContent = `${label}: ${counted(items, 'item')}…`),
    (items) => voice.say(`${label}: ${counted(items, 'item')} so far`),
  );

  /**
   * The last words; whoever stands on the button is brought to the first of `buttons`, or back to the link.
   * @param {string} text
   * @param {HTMLElement[]} buttons
   */
  const finish = (text, buttons = []) => {
    const hadFocus = button === document.activeElement;
    count.end();
    showAndSay(text);
    controls.replaceChildren(...buttons, dismiss);
    if (hadFocus) (buttons[0] ?? link).focus();
  };

  const close = () => {
    line.remove();
    voice.unsay();
    link.focus();
  };

  showAndSay(`${label} export begins…`);
  return {
    /** @param {number} items */
    show: (items) => count.set(items),
    /** @param {string} text */
    end: (text) => finish(text),
    /** @param {string} text */
    fail(text) {
      line.classList.add('export-line--failed');
      const tryAgain = makeButton('Try again', () => link.click(), {
        'aria-label': `Try again: ${label} export`,
      });
      finish(text, [tryAgain]);
    },
  };
}

/**
 * Whoever pressed a button of the earlier line stands on the button of this one.
 * @param {HTMLElement} place
 * @param {HTMLElement} line
 * @param {string} label
 */
function putIn(place, line, label) {
  const earlier = place.querySelector(`[data-of="${label}"]`);
  const hadFocus = earlier?.contains(document.activeElement) === true;
  if (earlier === null) place.append(line);
  else earlier.replaceWith(line);
  if (hadFocus) line.querySelector('button')?.focus();
}

/**
 * Into what was in the page before there was anything to say: screen readers hear nothing of what comes with its words.
 * All exports of a list speak through it, and each takes back its own words only.
 * @param {HTMLElement} place
 */
function createVoice(place) {
  const said = place.parentElement?.querySelector('[data-export-said]');
  let own = '';
  return {
    /** @param {string} text */
    say(text) {
      own = text;
      if (said) said.textContent = text;
    },
    unsay() {
      if (said?.textContent === own) said.textContent = '';
    },
  };
}

/**
 * A number that changes five times a second is for the eye; it is said rarely.
 * @param {(items: number) => void} show
 * @param {(items: number) => void} say
 */
function createCountDisplay(show, say) {
  let count = 0;
  let saidAt = performance.now();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;

  const showNow = () => {
    due = undefined;
    show(count);
    if (performance.now() - saidAt < SAY_EACH_MS) return;
    saidAt = performance.now();
    say(count);
  };

  return {
    /** @param {number} items */
    set(items) {
      count = items;
      due ??= setTimeout(showNow, SHOW_EACH_MS);
    },
    end: () => clearTimeout(due),
  };
}
