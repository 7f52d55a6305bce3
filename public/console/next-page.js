/** Following a list from page to page (service interface, section 4.5). */

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */

/**
 * The token of the page behind this one; null where there is none.
 * @param {unknown} json
 */
export function nextOf(json) {
  if (typeof json !== 'object' || json === null || Array.isArray(json) || !Object.hasOwn(json, 'next'))
    return null;
  const { next } = /** @type {{ next: unknown }} */ (json);
  return typeof next === 'string' && next !== '' ? next : null;
}

/**
 * The same request with `next` set: its limit must stay what it was.
 * @param {ComposedRequest} request
 * @param {string} next
 * @returns {ComposedRequest}
 */
export function withNext(request, next) {
  return { ...request, query: [...request.query.filter(([name]) => name !== 'next'), ['next', next]] };
}
