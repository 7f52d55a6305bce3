/** The form in which a request is composed. */
import { counted } from '../counts.js';
import { find } from '../elements.js';
import { showFault } from './pair-rows.js';
import { fillFields, findFields, readFields, splitPath } from './request-fields.js';
import { pathFaults, toAddress } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./request-rules.js').Fault} Fault */
/** @typedef {import('./request-fields.js').RequestFields} RequestFields */

/** A short first page: its answer is read at a glance, and has a `next`. */
const FIRST_QUERY = /** @type {const} */ ([['limit', '10']]);

/**
 * @param {HTMLFormElement} form
 * @param {string} origin
 */
export function createRequestForm(form, origin) {
  const fields = findFields(form, () => onChange());
  const filled = find(form, '[data-filled]', HTMLElement);
  const read = () => readFields(fields, origin);
  let tellOfChange = () => {};
  /** @param {readonly Fault[]} faults */
  const show = (faults) => {
    filled.textContent = '';
    showFaults(form, fields, faults);
  };
  /** Brings what follows from the fields up to date. */
  const onChange = () => {
    filled.textContent = '';
    showSummary(form, fields, origin);
    tellOfChange();
  };
  const split = () => {
    splitPath(fields, origin);
    onChange();
  };

  fields.query.replace(FIRST_QUERY.map(([name, value]) => [name, value]));
  fields.headers.replace([['', '']]);
  form.addEventListener('input', onChange);
  fields.path.addEventListener('change', split);
  // At once: rows that come when the field is left would move what is about to be clicked.
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
    /** @param {string} words Said beside the button until something changes, or is sent. */
    say: (words) => (filled.textContent = words),
    /** @param {() => void} listener Hears of it once what stands in the form is another request. */
    onChange(listener) {
      tellOfChange = listener;
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
        split(); // the path still has the focus, so it has not heard of a change
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

/**
 * Shows where the request goes, and how much is in the parts that may be closed.
 * @param {HTMLFormElement} form
 * @param {RequestFields} fields
 * @param {string} origin
 */
function showSummary(form, fields, origin) {
  const { headersPart, bodyPart } = fields;
  const request = readFields(fields, origin);
  fields.ownMethodField.hidden = fields.method.value !== '';
  const address = toAddress(request, origin);
  const isRefused = pathFaults(request, origin).some(({ stops }) => stops);
  find(form, '[data-preview]', HTMLElement).textContent =
    address === null || isRefused
      ? 'no address under /api/ that can be sent'
      : address.pathname + address.search;
  const named = request.headers.filter(([name]) => name !== '').length;
  find(headersPart, '[data-count]', HTMLElement).textContent = named === 0 ? '' : String(named);
  const { length } = request.body;
  find(bodyPart, '[data-count]', HTMLElement).textContent = length === 0 ? '' : counted(length, 'character');
}

/**
 * Shows each fault beside its field, and brings the person to the first that stops the request.
 * @param {HTMLFormElement} form
 * @param {RequestFields} fields
 * @param {readonly Fault[]} faults
 */
function showFaults(form, fields, faults) {
  const { method, ownMethod, ownMethodField, path, body, query, headers } = fields;
  /** @param {Fault['field']} field */
  const faultOf = (field) => faults.find((fault) => fault.field === field);
  showFault(find(form, '[data-fault="method"]', HTMLElement), [method, ownMethod], faultOf('method'));
  showFault(find(form, '[data-fault="path"]', HTMLElement), [path], faultOf('path'));
  showFault(find(form, '[data-fault="body"]', HTMLElement), [body], faultOf('body'));
  query.show(faults.filter(({ field }) => field === 'query'));
  headers.show(faults.filter(({ field }) => field === 'headers'));
  if (faultOf('headers')) fields.headersPart.open = true;
  if (faultOf('body')) fields.bodyPart.open = true;
  const [first] = form.querySelectorAll('[aria-invalid]');
  if (first === method && !ownMethodField.hidden) ownMethod.focus();
  else if (first instanceof HTMLElement) first.focus();
}
