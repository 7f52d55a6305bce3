/** Reads and fills the fields of the request form. */
import { find } from '../elements.ts';
import { createPairRows } from './pair-rows.ts';
import type { ComposedRequest, Pair } from './request-rules.ts';

export type RequestFields = ReturnType<typeof findFields>;

/** @param onChange Called when a row is added or removed. The form’s `input` event covers the rest. */
export function findFields(form: HTMLFormElement, onChange: () => void) {
  return {
    method: find(form, '[data-method]', HTMLSelectElement),
    otherMethod: find(form, '[data-other-method]', HTMLInputElement),
    otherMethodField: find(form, '[data-other-method-field]', HTMLElement),
    path: find(form, '[data-path]', HTMLInputElement),
    query: createPairRows(find(form, '[data-rows="query"]', HTMLElement), onChange),
    headers: createPairRows(find(form, '[data-rows="headers"]', HTMLElement), onChange),
    contentType: find(form, '[data-content-type]', HTMLSelectElement),
    body: find(form, '[data-body]', HTMLTextAreaElement),
    headersPart: find(form, '[data-part="headers"]', HTMLDetailsElement),
    bodyPart: find(form, '[data-part="body"]', HTMLDetailsElement),
  };
}

/** Reads the request as it will be sent. Splits off a query that the user typed into the path. */
export function readFields(
  { method, otherMethod, path, query, headers, contentType, body }: RequestFields,
  origin: string,
): ComposedRequest {
  const typed = splitTarget(path.value, origin);
  return {
    method: method.value === '' ? otherMethod.value.trim() : method.value,
    path: typed.path,
    query: typed.query ?? query.read(),
    headers: headers.read(),
    contentType: contentType.value,
    body: body.value,
  };
}

/** Writes a request into the form, and opens the sections that it uses. */
export function fillFields(fields: RequestFields, request: ComposedRequest) {
  const isListed = [...fields.method.options].some(({ value }) => value === request.method);
  fields.method.value = isListed ? request.method : '';
  fields.otherMethod.value = isListed ? '' : request.method;
  fields.path.value = request.path;
  fields.query.replace(request.query);
  fields.headers.replace(request.headers);
  fields.contentType.value = request.contentType;
  fields.body.value = request.body;
  fields.headersPart.open = request.headers.some(isFilled);
  fields.bodyPart.open = request.body !== '';
}

/** Moves a query from the path to the rows. */
export function splitPath({ path, query }: RequestFields, origin: string) {
  const typed = splitTarget(path.value, origin);
  path.value = typed.path;
  if (typed.query !== null) query.replace(typed.query);
}

/**
 * Splits the query off a typed path. The query then replaces all rows.
 * @param typed A path, or a URL on this origin. The first slash may be missing.
 * @returns `query` is null if the text contains no `?`.
 */
function splitTarget(typed: string, origin: string): { path: string; query: Pair[] | null } {
  const trimmed = typed.trim();
  const target = trimmed.startsWith(`${origin}/`) ? trimmed.slice(origin.length) : trimmed;
  const [path = '', ...rest] = target.split('?');
  return {
    path: path.startsWith('api/') ? `/${path}` : path,
    query: rest.length === 0 ? null : [...new URLSearchParams(rest.join('?'))],
  };
}

function isFilled([name, value]: Pair) {
  return name !== '' || value !== '';
}
