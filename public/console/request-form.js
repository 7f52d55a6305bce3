/** The form in which a request is composed. */
import { find } from '../elements.js';
import { createPairRows, showFault } from './pair-rows.js';
import { toAddress } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./request-rules.js').Fault} Fault */
/** @typedef {import('./request-rules.js').Pair} Pair */

/** A short first page: its answer is read at a glance, and has a `next`. */
const FIRST_QUERY = /** @type {const} */ ([['limit', '10']]);

/**
 * @param {HTMLFormElement} form
 * @param {string} origin
 */
export function createRequestForm(form, origin) {
  const method = find(form, '[data-method]', HTMLSelectElement);
  const ownMethod = find(form, '[data-own-method]', HTMLInputElement);
  const ownMethodField = find(form, '[data-own-method-field]', HTMLElement);
  const path = find(form, '[data-path]', HTMLInputElement);
  const contentType = find(form, '[data-content-type]', HTMLSelectElement);
  const body = find(form, '[data-body]', HTMLTextAreaElement);
  const preview = find(form, '[data-preview]', HTMLElement);
  const parts = {
    headers: find(form, '[data-part="headers"]', HTMLDetailsElement),
    body: find(form, '[data-part="body"]', HTMLDetailsElement),
  };
  const query = createPairRows(find(form, '[data-rows="query"]', HTMLElement), () => renew());
  const headers = createPairRows(find(form, '[data-rows="headers"]', HTMLElement), () => renew());

  /** @returns {ComposedRequest} */
  const read = () => ({
    method: method.value === '' ? ownMethod.value.trim() : method.value,
    path: path.value.trim(),
    query: query.read(),
    headers: headers.read(),
    contentType: contentType.value,
    body: body.value,
  });

  /** Brings what follows from the fields up to date. */
  const renew = () => {
    const request = read();
    ownMethodField.hidden = method.value !== '';
    const address = toAddress(request, origin);
    const isOfApi = address?.pathname.startsWith('/api/') === true;
    preview.textContent = isOfApi ? address.pathname + address.search : 'no address under /api/';
    const named = request.headers.filter(([name]) => name !== '').length;
    find(parts.headers, '[data-count]', HTMLElement).textContent = named === 0 ? '' : String(named);
    const characters = request.body.length.toLocaleString('en-GB');
    find(parts.body, '[data-count]', HTMLElement).textContent =
      request.body === '' ? '' : `${characters} characters`;
  };

  /** A pasted address becomes a path, and its query rows. */
  const splitPath = () => {
    const typed = path.value.trim();
    const target = typed.startsWith(`${origin}/`) ? typed.slice(origin.length) : typed;
    const [start = '', ...rest] = target.split('?');
    path.value = start;
    if (rest.length > 0)
      query.replace([...query.read().filter(isFilled), ...new URLSearchParams(rest.join('?'))]);
    renew();
  };

  /** @param {readonly Fault[]} faults */
  const show = (faults) => {
    /** @param {Fault['field']} field */
    const faultOf = (field) => faults.find((fault) => fault.field === field);
    showFault(find(form, '[data-fault="method"]', HTMLElement), [method, ownMethod], faultOf('method'));
    showFault(find(form, '[data-fault="path"]', HTMLElement), [path], faultOf('path'));
    showFault(find(form, '[data-fault="body"]', HTMLElement), [body], faultOf('body'));
    query.show(faults.filter(({ field }) => field === 'query'));
    headers.show(faults.filter(({ field }) => field === 'headers'));
    if (faultOf('headers')) parts.headers.open = true;
    if (faultOf('body')) parts.body.open = true;
    const [first] = form.querySelectorAll('[aria-invalid]');
    if (first === method && !ownMethodField.hidden) ownMethod.focus();
    else if (first instanceof HTMLElement) first.focus();
  };

  query.replace(FIRST_QUERY.map(([name, value]) => [name, value]));
  headers.replace([['', '']]);
  form.addEventListener('input', renew);
  path.addEventListener('change', splitPath);
  // At once: rows that come when the field is left would move what is about to be clicked.
  path.addEventListener('paste', () => setTimeout(splitPath));
  renew();

  return {
    read,
    show,
    /** @param {ComposedRequest} request */
    fill(request) {
      const isUsual = [...method.options].some(({ value }) => value === request.method);
      method.value = isUsual ? request.method : '';
      ownMethod.value = isUsual ? '' : request.method;
      path.value = request.path;
      query.replace(request.query);
      headers.replace(request.headers);
      contentType.value = request.contentType;
      body.value = request.body;
      parts.headers.open = request.headers.some(isFilled);
      parts.body.open = request.body !== '';
      show([]);
      renew();
    },
    /** @param {() => void} listener By the button, by Enter, or by Ctrl or Cmd and Enter anywhere in the form. */
    onSend(listener) {
      form.addEventListener('submit', (event) => {
        event.preventDefault();
        listener();
      });
      form.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        splitPath(); // it still has the focus, so it has not heard of a change
        listener();
      });
    },
    /** @param {(as: 'fetch' | 'curl') => void} listener */
    onCopy(listener) {
      for (const as of /** @type {const} */ (['fetch', 'curl']))
        find(form, `[data-copy="${as}"]`, HTMLButtonElement).addEventListener('click', () => listener(as));
    },
  };
}

/** @param {Pair} pair */
function isFilled([name, value]) {
  return name !== '' || value !== '';
}
