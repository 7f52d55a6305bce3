/** What a page may send through the gateway, judged before it is sent and said in words. */

/** @typedef {[name: string, value: string]} Pair */

/**
 * @typedef {object} ComposedRequest
 * @property {string} method
 * @property {string} path
 * @property {readonly Pair[]} query
 * @property {readonly Pair[]} headers
 * @property {string} contentType Of the body, unless a header row says it.
 * @property {string} body
 */

/**
 * @typedef {object} Fault
 * @property {'method' | 'path' | 'query' | 'headers' | 'body'} field
 * @property {number} [row] Of a list of rows, from 0.
 * @property {string} text
 * @property {boolean} stops Whether it must not be sent like this; else it is only worth knowing.
 */

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
/** What `fetch` lets no page send. */
const NO_METHOD_OF_PAGES = /^(?:connect|trace|track)$/i;
const BODILESS = /^(?:get|head)$/i;
/** The browser sets them itself and drops a page's own (Fetch, “forbidden request-header”). */
const SET_BY_BROWSER = new Set(
  `accept-charset accept-encoding access-control-request-headers access-control-request-method
  access-control-request-private-network connection content-length date dnt expect host keep-alive origin referer
  set-cookie te trailer transfer-encoding upgrade via`.split(/\s+/),
);
const SET_BY_BROWSER_KIND = /^(?:proxy|sec)-/;
/** Never kept, never sent: the ticket and the token are nothing that a page handles. */
const CREDENTIALS = new Set(['authorization', 'cookie', 'cookie2']);
const NOT_PASSED_ON = /^(?:forwarded|x-forwarded-.*|x-real-ip|x-request-id|x-client-ip|true-client-ip)$/;
const LONGEST_JUDGED_JSON = 1_000_000;

/**
 * The address that a request goes to: its path, and its query percent-encoded; null where that is no address at all.
 * @param {Pick<ComposedRequest, 'path' | 'query'>} request
 * @param {string} origin
 * @returns {URL | null}
 */
export function toAddress({ path, query }, origin) {
  const parameters = new URLSearchParams();
  for (const [name, value] of query) if (name !== '') parameters.append(name, value);
  // A plus sign is a space to some servers only; %20 is one to all.
  const encoded = parameters.toString().replaceAll('+', '%20');
  const between = encoded === '' ? '' : path.includes('?') ? '&' : '?';
  const target = path + between + encoded;
  return URL.canParse(target, origin) ? new URL(target, origin) : null;
}

/**
 * Whether a header may be kept: in the history, in a copy, anywhere.
 * @param {Pair} header
 */
export function isKept([name]) {
  return !CREDENTIALS.has(name.trim().toLowerCase());
}

/**
 * All that is wrong or odd with a request, in the order of the form.
 * @param {ComposedRequest} request
 * @param {string} origin
 * @returns {Fault[]}
 */
export function faultsOf(request, origin) {
  return [
    ...methodFaults(request.method),
    ...pathFaults(request, origin),
    ...request.query.flatMap(queryFaults),
    ...request.headers.flatMap(headerFaults),
    ...bodyFaults(request),
  ];
}

/**
 * @param {string} method
 * @returns {Fault[]}
 */
function methodFaults(method) {
  if (!TOKEN.test(method))
    return [stop('method', 'A method is one word, of letters, digits and hyphens, like PATCH.')];
  if (NO_METHOD_OF_PAGES.test(method))
    return [stop('method', `Browsers let no page send ${method}, and the gateway refuses it.`)];
  return [];
}

/**
 * @param {ComposedRequest} request
 * @param {string} origin
 * @returns {Fault[]}
 */
export function pathFaults(request, origin) {
  const { path } = request;
  if (!path.startsWith('/api/'))
    return [stop('path', 'The path must begin with /api/: the console calls nothing else.')];
  if (path.includes('#'))
    return [stop('path', 'A browser never sends what follows #. Write %23 for the character itself.')];
  const address = toAddress(request, origin);
  if (address === null || address.origin !== origin)
    return [stop('path', 'This is no path that a browser can send.')];
  if (!address.pathname.startsWith('/api/'))
    return [
      stop(
        'path',
        `A browser resolves the dots before it sends them: this would go to ${address.pathname}, which is not under /api/.`,
      ),
    ];
  const typed = path.split('?', 1)[0] ?? '';
  if (address.pathname.split('/').length !== typed.split('/').length)
    return [note('path', `A browser resolves the dots: this goes to ${address.pathname}`)];
  return [];
}

/**
 * @param {Pair} pair
 * @param {number} row
 * @returns {Fault[]}
 */
function queryFaults([name, value], row) {
  return name === '' && value !== '' ? [{ ...stop('query', 'Give the parameter a name.'), row }] : [];
}

/**
 * @param {Pair} pair
 * @param {number} row
 * @returns {Fault[]}
 */
function headerFaults([name, value], row) {
  const text = headerFault(name.toLowerCase(), name, value);
  if (text !== null) return [{ ...stop('headers', text), row }];
  if (NOT_PASSED_ON.test(name.toLowerCase()))
    return [{ ...note('headers', `The gateway does not pass ${name} on to the service.`), row }];
  return [];
}

/**
 * @param {string} plain The name in lower case.
 * @param {string} name
 * @param {string} value
 * @returns {string | null}
 */
function headerFault(plain, name, value) {
  if (name === '') return value === '' ? null : 'Give the header a name.';
  if (plain === 'authorization')
    return 'The gateway adds the token itself, and drops what a page sends. Paste no token here.';
  if (plain === 'cookie' || plain === 'cookie2')
    return 'The browser adds the session cookie itself, and the gateway never passes it on.';
  if (!TOKEN.test(name)) return 'A header name holds letters, digits and hyphens: no space, no colon.';
  if (SET_BY_BROWSER.has(plain) || SET_BY_BROWSER_KIND.test(plain))
    return `The browser sets ${name} itself: no page may.`;
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return 'A header’s value is one line of Latin letters and signs. Encode anything else.';
  return null;
}

/**
 * @param {ComposedRequest} request
 * @returns {Fault[]}
 */
function bodyFaults({ method, body, contentType, headers }) {
  if (body === '') return [];
  if (BODILESS.test(method))
    return [stop('body', `A browser sends no body with ${method}. Empty it, or choose another method.`)];
  const said = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? contentType;
  if (!/[/+]json\b/i.test(said) || body.length > LONGEST_JUDGED_JSON) return [];
  try {
    JSON.parse(body);
    return [];
  } catch (error) {
    return [
      note(
        'body',
        `This is not JSON (${error instanceof Error ? error.message : 'unreadable'}). It is sent as it is.`,
      ),
    ];
  }
}

/**
 * @param {Fault['field']} field
 * @param {string} text
 * @returns {Fault}
 */
function stop(field, text) {
  return { field, text, stops: true };
}

/**
 * @param {Fault['field']} field
 * @param {string} text
 * @returns {Fault}
 */
function note(field, text) {
  return { field, text, stops: false };
}
