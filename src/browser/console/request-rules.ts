/** Checks whether a page may send a request through the gateway. */

export type Pair = [name: string, value: string];

export interface ComposedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: readonly Pair[];
  readonly headers: readonly Pair[];
  /** The content type of the body, unless a header row sets it. */
  readonly contentType: string;
  readonly body: string;
}

export interface Issue {
  readonly field: 'method' | 'path' | 'query' | 'headers' | 'body';
  /** The index of the row. */
  readonly row?: number;
  readonly text: string;
  /** Whether the issue prevents sending. False if it is only a hint. */
  readonly isBlocking: boolean;
}

/** A token, such as a header name (RFC 9110 §5.6.2). */
const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/;
/** Methods that `fetch` refuses. */
const FORBIDDEN_METHOD = /^(?:connect|trace|track)$/i;
const BODILESS = /^(?:get|head)$/i;
/** Headers that browsers set themselves and drop from page requests (Fetch, “forbidden request-header”). */
const SET_BY_BROWSER = new Set(
  `accept-charset accept-encoding access-control-request-headers access-control-request-method
  access-control-request-private-network connection content-length date dnt expect host keep-alive origin referer
  set-cookie te trailer transfer-encoding upgrade via`.split(/\s+/),
);
const SET_BY_BROWSER_KIND = /^(?:proxy|sec)-/;
/** Headers that are never stored or sent, because a page never handles the session cookie or the token. */
const CREDENTIALS = new Set(['authorization', 'cookie', 'cookie2']);
const NOT_FORWARDED = /^(?:forwarded|x-forwarded-.*|x-real-ip|x-request-id|x-client-ip|true-client-ip)$/;
const MAX_CHECKED_JSON = 1_000_000;

/** Returns the URL of a request with its query percent-encoded, or null if the URL is invalid. */
export function toUrl({ path, query }: Pick<ComposedRequest, 'path' | 'query'>, origin: string): URL | null {
  const parameters = new URLSearchParams();
  for (const [name, value] of query) if (name !== '') parameters.append(name, value);
  // All servers decode %20 as a space, but only some decode +.
  const encoded = parameters.toString().replaceAll('+', '%20');
  const separator = encoded === '' ? '' : path.includes('?') ? '&' : '?';
  const target = path + separator + encoded;
  return URL.canParse(target, origin) ? new URL(target, origin) : null;
}

/** Returns whether a header contains no credentials, and may therefore be stored or copied. */
export function isStorableHeader([name]: Pair) {
  return !CREDENTIALS.has(name.trim().toLowerCase());
}

/** Returns all issues with a request, in the order of the form fields. */
export function validateRequest(request: ComposedRequest, origin: string): Issue[] {
  return [
    ...validateMethod(request.method),
    ...validatePath(request, origin),
    ...request.query.flatMap(validateParameter),
    ...request.headers.flatMap(validateHeader),
    ...validateBody(request),
  ];
}

function validateMethod(method: string): Issue[] {
  if (!TOKEN.test(method))
    return [blockingIssue('method', 'Enter a method of letters, digits and hyphens, such as PATCH.')];
  if (FORBIDDEN_METHOD.test(method))
    return [
      blockingIssue(
        'method',
        `Choose another method. Browsers don’t allow pages to send ${method}, and the gateway refuses it.`,
      ),
    ];
  return [];
}

/** Returns what is wrong with the path: nothing, a blocking issue or a hint. */
export function validatePath(request: ComposedRequest, origin: string): Issue[] {
  const { path } = request;
  if (!path.startsWith('/api/'))
    return [blockingIssue('path', 'The path must start with /api/. The console sends only API requests.')];
  if (path.includes('#'))
    return [
      blockingIssue('path', 'Browsers don’t send the part after #. To send the character itself, write %23.'),
    ];
  const url = toUrl(request, origin);
  if (url === null || url.origin !== origin)
    return [blockingIssue('path', 'Browsers can’t send this path. Check it for invalid characters.')];
  if (!url.pathname.startsWith('/api/'))
    return [
      blockingIssue(
        'path',
        `Browsers resolve dot segments in a path. This request would go to ${url.pathname}, which is not under /api/.`,
      ),
    ];
  const typed = path.split('?', 1)[0] ?? '';
  if (url.pathname.split('/').length !== typed.split('/').length)
    return [hint('path', `Browsers resolve dot segments in a path. This request goes to ${url.pathname}.`)];
  return [];
}

function validateParameter([name, value]: Pair, row: number): Issue[] {
  return name === '' && value !== ''
    ? [{ ...blockingIssue('query', 'Enter a name for the parameter.'), row }]
    : [];
}

function validateHeader([name, value]: Pair, row: number): Issue[] {
  const text = toHeaderError(name.toLowerCase(), name, value);
  if (text !== null) return [{ ...blockingIssue('headers', text), row }];
  if (NOT_FORWARDED.test(name.toLowerCase()))
    return [{ ...hint('headers', `The gateway does not forward ${name} to the service.`), row }];
  return [];
}

function toHeaderError(lowerName: string, name: string, value: string): string | null {
  if (name === '') return value === '' ? null : 'Enter a name for the header.';
  if (lowerName === 'authorization')
    return 'Remove this header. The gateway adds the access token and drops an Authorization header from a page. Never paste a token here.';
  if (lowerName === 'cookie' || lowerName === 'cookie2')
    return 'Remove this header. The browser adds the session cookie, and the gateway never forwards it.';
  if (!TOKEN.test(name))
    return 'A header name can contain letters, digits and hyphens, but not spaces or colons.';
  if (SET_BY_BROWSER.has(lowerName) || SET_BY_BROWSER_KIND.test(lowerName))
    return `Remove this header. The browser sets ${name}.`;
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    return 'A header value is one line of Latin-1 characters. Encode any other character.';
  return null;
}

function validateBody({ method, body, contentType, headers }: ComposedRequest): Issue[] {
  if (body === '') return [];
  if (BODILESS.test(method))
    return [
      blockingIssue(
        'body',
        `Browsers don’t send a body with ${method}. Remove the body, or choose another method.`,
      ),
    ];
  const type = headers.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? contentType;
  if (!/[/+]json\b/i.test(type) || body.length > MAX_CHECKED_JSON) return [];
  try {
    JSON.parse(body);
    return [];
  } catch (error) {
    return [
      hint(
        'body',
        `The body is not valid JSON (${error instanceof Error ? error.message : 'unreadable'}). You can still send it.`,
      ),
    ];
  }
}

function blockingIssue(field: Issue['field'], text: string): Issue {
  return { field, text, isBlocking: true };
}

function hint(field: Issue['field'], text: string): Issue {
  return { field, text, isBlocking: false };
}
