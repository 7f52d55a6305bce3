/** The facts of an answer: its status and its end in words, a problem, the headers. */
import { counted } from '../counts.js';
import { find, make } from '../elements.js';
import { MOST_BYTES } from './send-request.js';

/** @typedef {import('./send-request.js').Answer} Answer */
/** @typedef {import('./explanation.js').Explanation} Explanation */

export const BY = {
  service: 'from the service',
  gateway: 'from the gateway',
  other: 'from something in between',
};

/** @param {Answer} answer */
export function toStatusWords({ status, statusText }) {
  return `${status} ${statusText}`.trim();
}

/**
 * @param {Answer} answer
 * @returns {string[]}
 */
export function endSentences({ end, body }) {
  // Of no byte it is not known that none came: the browser throws away what was not read before the failure.
  const place = body.size === 0 ? '' : ` after ${counted(body.size, 'byte')}`;
  if (end === 'broke-off') return [`The answer broke off${place}: it is not whole.`];
  if (end === 'cancelled') return [`Cancelled${place}: it is not whole.`];
  if (end === 'too-large')
    return [`The console stopped reading: it takes ${counted(MOST_BYTES, 'byte')} at most.`];
  return [];
}

/**
 * @param {ParentNode} section
 * @param {Explanation} explanation
 */
export function showProblem(section, { problem }) {
  const list = find(section, '[data-problem]', HTMLElement);
  list.hidden = problem === null;
  if (problem === null) return;
  const facts = [
    ['Code', problem.code],
    ['Why', problem.detail || problem.title],
    ['What to do', problem.advice],
    ['Request id', problem.requestId],
  ].filter(([, value]) => value !== '');
  list.replaceChildren(
    ...facts.flatMap(([name = '', value = '']) => [
      make('dt', {}, [name]),
      make('dd', { dir: 'auto' }, [value]),
    ]),
  );
}

/**
 * @param {ParentNode} section
 * @param {Headers} headers
 */
export function showHeaders(section, headers) {
  const entries = [...headers];
  find(section, '[data-header-count]', HTMLElement).textContent = String(entries.length);
  const rows = entries.map(([name, value]) =>
    make('tr', {}, [make('th', { scope: 'row' }, [name]), make('td', { dir: 'auto' }, [value])]),
  );
  find(section, '[data-headers]', HTMLElement).replaceChildren(make('table', {}, [make('tbody', {}, rows)]));
}
