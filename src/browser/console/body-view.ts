/** Shows the body of a response. */
import { formatCount, formatNumber } from '../counts.ts';
import { find, make } from '../elements.ts';
import type { ShownBody } from './body-text.ts';
import type { ReceivedResponse } from './send-request.ts';
import type { Mark } from './json-text.ts';

const KINDS = ['name', 'text', 'value'] as const;

/** Creates the view of a response body: its size, its text with highlighted JSON, and notes about what is missing. */
export function createBodyView(section: ParentNode) {
  const size = find(section, '[data-size]', HTMLElement);
  const notes = find(section, '[data-body-notes]', HTMLElement);
  const frame = find(section, '[data-body-frame]', HTMLElement);
  const pre = find(section, '[data-body-text]', HTMLElement);
  let bytes = 0;
  let encoding = '';

  return {
    show(shown: ShownBody, { body, headers }: ReceivedResponse) {
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
    wireSize(encodedBytes: number) {
      if (encoding === '' || encodedBytes === 0 || bytes === 0) return;
      size.textContent = `${formatCount(bytes, 'byte')}, ${formatNumber(encodedBytes)} transferred (${encoding})`;
    },
  };
}

/** Colours ranges of text with the Highlight API, because thousands of elements would slow the page down. */
function colour(pre: HTMLElement, marks: readonly Mark[]) {
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

function toRange(node: Node, start: number, end: number) {
  const range = new Range();
  range.setStart(node, start);
  range.setEnd(node, end);
  return range;
}
