/** The form that composes a request. */
import { formatCount } from '../counts.ts';
import { find } from '../elements.ts';
import { showIssue } from './pair-rows.ts';
import { fillFields, findFields, readFields, splitPath, type RequestFields } from './request-fields.ts';
import { validatePath, toUrl, type ComposedRequest, type Issue } from './request-rules.ts';

/** Requests a short page, so that the response is likely to contain a `next` cursor. */
const FIRST_QUERY = [['limit', '10']] as const;

/** Creates the request form. `origin` is that of this page, the only one that receives requests. */
export function createRequestForm(form: HTMLFormElement, origin: string) {
  const fields = findFields(form, () => onChange());
  const fillStatus = find(form, '[data-fill-status]', HTMLElement);
  const read = () => readFields(fields, origin);
  let changeListener = () => {};
  const show = (issues: readonly Issue[]) => {
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
    fill(request: ComposedRequest) {
      fillFields(fields, request);
      show([]);
      onChange();
    },
    /** @param words Shown near the button until the next change. */
    showStatus: (words: string) => (fillStatus.textContent = words),
    /** @param listener Called after each change. */
    onChange(listener: () => void) {
      changeListener = listener;
    },
    /** @param listener Called for the button, for Enter, and for Ctrl+Enter or Cmd+Enter anywhere in the form. */
    onSend(listener: () => void) {
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
    onCopy(listener: (format: 'fetch' | 'curl') => void) {
      for (const format of ['fetch', 'curl'] as const) {
        const button = find(form, `[data-copy="${format}"]`, HTMLButtonElement);
        button.addEventListener('click', () => listener(format));
      }
    },
  };
}

/** Shows the URL of the request, the number of headers and the length of the body. */
function showSummary(form: HTMLFormElement, fields: RequestFields, origin: string) {
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

/** Shows each issue next to its field and focuses the first field with a blocking issue. */
function showIssues(form: HTMLFormElement, fields: RequestFields, issues: readonly Issue[]) {
  const { method, otherMethod, otherMethodField, path, body, query, headers } = fields;
  const issueFor = (field: Issue['field']) => issues.find((issue) => issue.field === field);
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
