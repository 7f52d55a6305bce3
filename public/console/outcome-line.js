/** One line that says what became of a request; a screen reader hears it. */
import { counted } from '../counts.js';
import { find } from '../elements.js';

/** What there is to say where there is no answer to show. */
const NO_ANSWER = {
  refused: 'Not sent: see what is marked above.',
  redirect:
    'The service answered with a redirect. The gateway follows none, and browsers show pages nothing of it: use curl to see where it leads.',
  cancelled: 'Cancelled before an answer came. The service may have done its work all the same.',
  offline: 'Not sent: this device is offline.',
  unreachable: 'No answer: the connection to Cloakroom failed, or broke off before the answer began.',
  failed:
    'The answer could not be shown: something in this page failed. The service may have done its work all the same.',
};

/** @param {ParentNode} root */
export function createOutcomeLine(root) {
  const words = find(root, '[data-outcome]', HTMLElement);
  const progress = find(root, '[data-progress]', HTMLElement);
  let place = 0;

  /** @param {readonly (Node | string)[]} parts */
  const say = (...parts) => {
    progress.textContent = '';
    words.replaceChildren(...parts);
  };

  return {
    say,
    /** @param {keyof typeof NO_ANSWER} why */
    sayWhyNot: (why) => say(NO_ANSWER[why]),
    /** @param {number} bytes That have come so far; not heard. */
    showProgress: (bytes) => (progress.textContent = `${counted(bytes, 'byte')} so far`),
    /** Remembers where the window is scrolled to. */
    keepPlace: () => (place = scrollY),
    /** Whether the reader has gone elsewhere since. By a line or two the page moves itself, where words come and go. */
    isReaderElsewhere: () => Math.abs(scrollY - place) > innerHeight / 4,
    /**
     * Has the page begin with this line, where it and enough of what follows can’t be seen already. The focus stays
     * where it is: the line is heard, and whoever mends the request and sends it again goes on from the same place.
     * @param {HTMLElement} [last] What belongs to the outcome ends with it.
     */
    bringIntoView(last = words) {
      const { top } = words.getBoundingClientRect();
      const isWhole = last.getBoundingClientRect().bottom <= innerHeight;
      if (top >= heldBack() - 1 && (isWhole || top <= innerHeight / 3)) return;
      const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
      words.scrollIntoView({ block: 'start', behavior: isStill ? 'instant' : 'smooth' });
    },
  };
}

/** What lies over the top of the page, or is kept free there, in px. */
function heldBack() {
  return Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
}
