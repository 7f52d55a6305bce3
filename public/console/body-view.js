/** Shows the body of a response. */
import { formatCount, formatNumber } from '../counts.js';
import { find, make } from '../elements.js';

/** @typedef {import('./body-text.js').ShownBody} ShownBody */
/** @typedef {import('./send-request.js').ReceivedResponse} ReceivedResponse */
/** @typedef {import('./json-text.js').Mark} Mark */

const KINDS = /** @type {const} */ (['name', 'text', 'value']);

/** @param {ParentNode} section */
export function createBodyView(section) {
  const size = find(section, '[data-size]', HTMLElement);
  const notes = find(section, '[data-body-notes]', HTMLElement);
  const frame = find(section, '[data-body-frame]', HTMLElement);
  const pre = find(section, '[data-body-text]', HTMLElement);
  let bytes = 0;
  let encoding = '';

  return {
    /**
     * @param {ShownBody} shown
     * @param {ReceivedResponse} response
     */
    show(shown, { body, headers }) {
      bytes = body.size;
      encoding = headers.get('content-encoding') ?? '';
      size.textContent = bytes === 0 ? '' : formatCount(bytes, 'byte');
      const kindNotes =
        shown.kind === 'none'
          ? ['The body is empty.']
          : shown.kind === 'binary'
            ? ['The body is binary. Save it to open it.']
            : [];
      notes.replaceChildren(...[...kindNotes, ...shown.notes].map((words) => make('li', {}, [words])));
      frame.hidden = shown.text === '';
      pre.textContent = shown.text;
      frame.scrollTop = 0;
      colour(pre, shown.marks);
    },
    /** @param {number} encodedBytes */
    wireSize(encodedBytes) {
      if (encoding === '' || encodedBytes === 0 || bytes === 0) return;
      size.textContent = `${formatCount(bytes, 'byte')}, ${formatNumber(encodedBytes)} transferred (${encoding})`;
    },
  };
}

/**
 * Colours ranges of text with the Highlight API, because thousands of elements would slow the page down.
 * @param {HTMLElement} pre
 * @param {readonly Mark[]} marks
 */
function colour(pre, marks) {
  const text = pre.firstChild;
  if (!('highlights' in CSS)) return; // older browsers show plain text
  for (const kind of KINDS) {
    const ranges =
      text === null
        ? []
        : marks.filter((mark) => mark.kind === kind).map(({ start, end }) => toRange(text, start, end));
    CSS.highlights.set(`json-${kind}`, new Highlight(...ranges));
  }
}

/**
 * @param {Node} node
 * @param {number} start
 * @param {number} end
 */
function toRange(node, start, end) {
  const range = new Range();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}
