/** The line that shows the outcome of a request, which screen readers announce. */
import { formatCount } from '../counts.ts';
import { find } from '../elements.ts';

/** Messages for a request without a response to show. */
const NO_RESPONSE = {
  refused: 'Not sent. Correct the marked fields above.',
  redirect:
    'The service responded with a redirect. The gateway does not follow redirects, and the browser hides them from this page. Use curl to see the target.',
  cancelled: 'Cancelled before a response arrived. The service may have processed the request.',
  offline: 'Not sent. This device is offline.',
  unreachable: 'No response. The connection to Cloakroom failed. Try again in a moment.',
  failed: 'This page could not show the response. The service may have processed the request.',
};

/** Creates the line that tells the user, and screen readers, what became of the request. */
export function createOutcomeLine(root: ParentNode) {
  const words = find(root, '[data-outcome]', HTMLElement);
  const progress = find(root, '[data-progress]', HTMLElement);
  let position = 0;

  const show = (...parts: readonly (Node | string)[]) => {
    progress.textContent = '';
    words.replaceChildren(...parts);
  };

  return {
    show,
    showNoResponse: (reason: keyof typeof NO_RESPONSE) => show(NO_RESPONSE[reason]),
    /** @param bytes Bytes received so far. Screen readers do not announce them. */
    showProgress: (bytes: number) => (progress.textContent = `${formatCount(bytes, 'byte')} so far`),
    savePosition: () => (position = scrollY),
    /** Returns whether the user has scrolled far since `savePosition`. The page itself may scroll a little when text appears. */
    hasScrolledAway: () => Math.abs(scrollY - position) > innerHeight / 4,
    /**
     * Scrolls this line to the top, unless it and enough of the outcome are visible. The focus does not move, so that the user
     * can correct the request and send it again.
     * @param last The last element of the outcome.
     */
    bringIntoView(last: HTMLElement = words) {
      const { top } = words.getBoundingClientRect();
      const isInSight = last.getBoundingClientRect().bottom <= innerHeight;
      if (top >= scrollPadding() - 1 && (isInSight || top <= innerHeight / 3)) return;
      const isReduced = matchMedia('(prefers-reduced-motion: reduce)').matches;
      words.scrollIntoView({ block: 'start', behavior: isReduced ? 'instant' : 'smooth' });
    },
  };
}

/** Returns the height of the covered area at the top of the window, in px. */
function scrollPadding() {
  return Number.parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
}
