/** The form that composes a request. */
import { formatCount } from '../counts.js';
import { find } from '../elements.js';
import { showIssue } from './pair-rows.js';
import { fillFields, findFields, readFields, splitPath } from './request-fields.js';
import { validatePath, toUrl } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./request-rules.js').Issue} Issue */
/** @typedef {import('./request-fields.js').RequestFields} RequestFields */

/** Requests a short page, so that the response is likely to contain a `next` cursor. */
const FIRST_QUERY = /** @type {const} */ ([['limit', '10']]);

/**
 * @param {HTMLFormElement} form
 * @param {string} origin
 */
export function createRequestForm(form, origin) {
  const fields = findFields(form, () => onChange());
  const fillStatus = find(form, '[data-fill-status]', HTMLElement);
  const read = () => readFields(fields, origin);
  let changeListener = () => {};
  /** @param {readonly Issue[]} issues */
  const show = (issues) => {
    fillStatus.textContent = '';
    showIssues(form, fields, issues);
  };
  const onChange = () => {
    fillStatus.textContent = '';
    showSummary(form, fields, origin);
    changeListener();
  };
  const split = () => {
    splitPath(fields, origin);
    onChange();
  };

  fields.query.replace(FIRST_QUERY.map(([name, value]) => [name, value]));
  fields.headers.replace([['', '']]);
  form.addEventListener('input', onChange);
  fields.path.addEventListener('change', split);
  // Split a pasted path immediately. Rows that appear on blur would move the element that the user is about to click.
  fields.path.addEventListener('paste', () => setTimeout(split));
  onChange();

  return {
    read,
    show,
    /** @param {ComposedRequest} request */
    fill(request) {
      fillFields(fields, request);
      show([]);
      onChange();
    },
    /** @param {string} words Shown near the button until the next change. */
    showStatus: (words) => (fillStatus.textContent = words),
    /** @param {() => void} listener Called after each change. */
    onChange(listener) {
      changeListener = listener;
    },
    /** @param {() => void} listener Called for the button, for Enter, and for Ctrl+Enter or Cmd+Enter anywhere in the form. */
    onSend(listener) {
      form.addEventListener('submit', (event) => {
        event.preventDefault();
        listener();
      });
      form.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        split(); // the path field fires `change` only once it loses the focus
        listener();
      });
    },
    /** @param {(format: 'fetch' | 'curl') => void} listener */
    onCopy(listener) {
      for (const format of /** @type {const} */ (['fetch', 'curl'])) {
        const button = find(form, `[data-copy="${format}"]`, HTMLButtonElement);
        button.addEventListener('click', () => listener(format));
      }
    },
  };
}

/**
 * Shows the URL of the request, the number of headers and the length of the body.
 * @param {HTMLFormElement} form
 * @param {RequestFields} fields
 * @param {string} origin
 */
function showSummary(form, fields, origin) {
  const { headersPart, bodyPart } = fields;
  const request = readFields(fields, origin);
  fields.otherMethodField.hidden = fields.method.value !== '';
  const url = toUrl(request, origin);
  const isRefused = validatePath(request, origin).some(({ isBlocking }) => isBlocking);
  find(form, '[data-preview]', HTMLElement).textContent =
    url === null || isRefused ? 'none (correct the path)' : url.pathname + url.search;
  const named = request.headers.filter(([name]) => name !== '').length;
  find(headersPart, '[data-count]', HTMLElement).textContent = named === 0 ? '' : String(named);
  const { length } = request.body;
  find(bodyPart, '[data-count]', HTMLElement).textContent =
    length === 0 ? '' : formatCount(length, 'character');
}

/**
 * Shows each issue next to its field and focuses the first field with a blocking issue.
 * @param {HTMLFormElement} form
 * @param {RequestFields} fields
 * @param {readonly Issue[]} issues
 */
function showIssues(form, fields, issues) {
  const { method, otherMethod, otherMethodField, path, body, query, headers } = fields;
  /** @param {Issue['field']} field */
  const issueFor = (field) => issues.find((issue) => issue.field === field);
  showIssue(find(form, '[data-issue="method"]', HTMLElement), [method, otherMethod], issueFor('method'));
  showIssue(find(form, '[data-issue="path"]', HTMLElement), [path], issueFor('path'));
  showIssue(find(form, '[data-issue="body"]', HTMLElement), [body], issueFor('body'));
  query.show(issues.filter(({ field }) => field === 'query'));
  headers.show(issues.filter(({ field }) => field === 'headers'));
  if (issueFor('headers')) fields.headersPart.open = true;
  if (issueFor('body')) fields.bodyPart.open = true;
  const [first] = form.querySelectorAll('[aria-invalid]');
  if (first === method && !otherMethodField.hidden) otherMethod.focus();
  else if (first instanceof HTMLElement) first.focus();
}
