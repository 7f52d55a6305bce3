/** The fields in which a request is composed: what stands in them, and what is put into them. */
import { find } from '../elements.js';
import { createPairRows } from './pair-rows.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./request-rules.js').Pair} Pair */
/** @typedef {ReturnType<typeof findFields>} RequestFields */

/**
 * @param {HTMLFormElement} form
 * @param {() => void} onChange Hears of rows that come and go; of the rest the form’s own `input` tells.
 */
export function findFields(form, onChange) {
  return {
    method: find(form, '[data-method]', HTMLSelectElement),
    ownMethod: find(form, '[data-own-method]', HTMLInputElement),
    ownMethodField: find(form, '[data-own-method-field]', HTMLElement),
    path: find(form, '[data-path]', HTMLInputElement),
    query: createPairRows(find(form, '[data-rows="query"]', HTMLElement), onChange),
    headers: createPairRows(find(form, '[data-rows="headers"]', HTMLElement), onChange),
    contentType: find(form, '[data-content-type]', HTMLSelectElement),
    body: find(form, '[data-body]', HTMLTextAreaElement),
    headersPart: find(form, '[data-part="headers"]', HTMLDetailsElement),
    bodyPart: find(form, '[data-part="body"]', HTMLDetailsElement),
  };
}

/**
 * The request as it is meant, also while its path is not split yet: what is shown of it is what is sent.
 * @param {RequestFields} fields
 * @param {string} origin
 * @returns {ComposedRequest}
 */
export function readFields({ method, ownMethod, path, query, headers, contentType, body }, origin) {
  const typed = takeApart(path.value, origin);
  return {
    method: method.value === '' ? ownMethod.value.trim() : method.value,
    path: typed.path,
    query: typed.query ?? query.read(),
    headers: headers.read(),
    contentType: contentType.value,
    body: body.value,
  };
}

/**
 * @param {RequestFields} fields
 * @param {ComposedRequest} request
 */
export function fillFields(fields, request) {
  const isUsual = [...fields.method.options].some(({ value }) => value === request.method);
  fields.method.value = isUsual ? request.method : '';
  fields.ownMethod.value = isUsual ? '' : request.method;
  fields.path.value = request.path;
  fields.query.replace(request.query);
  fields.headers.replace(request.headers);
  fields.contentType.value = request.contentType;
  fields.body.value = request.body;
  fields.headersPart.open = request.headers.some(isFilled);
  fields.bodyPart.open = request.body !== '';
}

/**
 * A pasted address becomes a path, and its query the rows.
 * @param {RequestFields} fields
 * @param {string} origin
 */
export function splitPath({ path, query }, origin) {
  const typed = takeApart(path.value, origin);
  path.value = typed.path;
  if (typed.query !== null) query.replace(typed.query);
}

/**
 * An address is whole: where it has a query, no other row is meant beside it.
 * @param {string} typed As a path, or as an address of this origin; its first slash may be missing.
 * @param {string} origin
 * @returns {{ path: string, query: Pair[] | null }} Null where it has none.
 */
function takeApart(typed, origin) {
  const address = typed.trim();
  const target = address.startsWith(`${origin}/`) ? address.slice(origin.length) : address;
  const [path = '', ...rest] = target.split('?');
  return {
    path: path.startsWith('api/') ? `/${path}` : path,
    query: rest.length === 0 ? null : [...new URLSearchParams(rest.join('?'))],
  };
}

/** @param {Pair} pair */
function isFilled([name, value]) {
  return name !== '' || value !== '';
}
