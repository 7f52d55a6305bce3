/** Writes a request down so that it works elsewhere. Neither form holds a cookie or a token, only where one goes. */
import { isKept, toAddress } from './request-rules.js';

/** @typedef {import('./request-rules.js').ComposedRequest} ComposedRequest */
/** @typedef {import('./request-rules.js').Pair} Pair */

/** Of these the gateway takes a call without X-Requested-With. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The headers that a request goes out with: its rows, and the type of its body where no row says one.
 * @param {ComposedRequest} request
 * @returns {Pair[]}
 */
export function headersOf({ headers, contentType, body }) {
  const named = headers.filter((header) => header[0] !== '' && isKept(header));
  const saysType = named.some(([name]) => name.toLowerCase() === 'content-type');
  return body === '' || saysType ? named : [['Content-Type', contentType], ...named];
}

/**
 * For a page of the same origin.
 * @param {ComposedRequest} request
 * @param {string} origin
 */
export function toFetchCode(request, origin) {
  const address = toAddress(request, origin);
  const target = address === null ? request.path : address.pathname + address.search;
  const headers = headersOf(request);
  const options = [
    ...(request.method === 'GET' ? [] : [`method: ${quoted(request.method)}`]),
    ...(headers.length === 0 ? [] : [`headers: ${toHeadersCode(headers)}`]),
    ...(request.body === '' ? [] : [`body: ${quoted(request.body)}`]),
  ];
  const init = options.length === 0 ? '' : `, {\n${options.map((option) => `  ${option},\n`).join('')}}`;
  return `const answer = await fetch(${quoted(target)}${init});`;
}

/**
 * For a POSIX shell that has the session cookie’s value in COOKIE.
 * @param {ComposedRequest} request
 * @param {string} origin
 * @param {string} cookieName
 */
export function toCurlCommand(request, origin, cookieName) {
  const { method, body } = request;
  const headers = headersOf(request);
  if (!SAFE.has(method) && !headers.some(([name]) => name.toLowerCase() === 'x-requested-with'))
    headers.push(['X-Requested-With', 'curl']);
  const address = toAddress(request, origin)?.href ?? origin + request.path;
  return [
    `curl --globoff --path-as-is --cookie "${cookieName}=$COOKIE"`,
    ...toMethodOptions(method),
    ...headers.map(
      ([name, value]) => `--header ${shellQuoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
    ),
    ...(body !== '' ? [`--data-raw ${shellQuoted(body)}`] : []),
    shellQuoted(address),
  ].join(' \\\n  ');
}

/**
 * curl would wait for a body that an answer to HEAD never has.
 * @param {string} method
 */
function toMethodOptions(method) {
  if (method === 'GET') return [];
  return method === 'HEAD' ? ['--head'] : [`--request ${shellQuoted(method)}`];
}

/** @param {readonly Pair[]} headers */
function toHeadersCode(headers) {
  const names = headers.map(([name]) => name.toLowerCase());
  if (new Set(names).size < names.length)
    return `[${headers.map(([name, value]) => `[${quoted(name)}, ${quoted(value)}]`).join(', ')}]`;
  return `{ ${headers.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`).join(', ')} }`;
}

/**
 * In single quotes, as a string of JavaScript.
 * @param {string} text
 */
function quoted(text) {
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inside}'`;
}

/**
 * In single quotes nothing means anything to a shell but the quote itself.
 * @param {string} text
 */
function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
