/** Writes a request as a curl command or as fetch code, without the session cookie or token. */
import { isStorableHeader, toUrl, type ComposedRequest, type Pair } from './request-rules.ts';

/** The gateway accepts these methods without X-Requested-With. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Returns the headers of a request: the header rows, plus the content type from the form unless a row sets it. */
export function headersOf({ headers, contentType, body }: ComposedRequest): Pair[] {
  const named = headers.filter((header) => header[0] !== '' && isStorableHeader(header));
  const hasType = named.some(([name]) => name.toLowerCase() === 'content-type');
  return body === '' || hasType ? named : [['Content-Type', contentType], ...named];
}

/** Writes code for a page on the same origin. */
export function toFetchCode(request: ComposedRequest, origin: string) {
  const url = toUrl(request, origin);
  const target = url === null ? request.path : url.pathname + url.search;
  const headers = headersOf(request);
  const options = [
    ...(request.method === 'GET' ? [] : [`method: ${quoted(request.method)}`]),
    ...(headers.length === 0 ? [] : [`headers: ${toHeadersCode(headers)}`]),
    ...(request.body === '' ? [] : [`body: ${quoted(request.body)}`]),
  ];
  const init = options.length === 0 ? '' : `, {\n${options.map((option) => `  ${option},\n`).join('')}}`;
  return `const response = await fetch(${quoted(target)}${init});`;
}

/** Writes a command for a POSIX shell. The command reads the value of the session cookie from the shell variable COOKIE. */
export function toCurlCommand(request: ComposedRequest, origin: string, cookieName: string) {
  const { method, body } = request;
  const headers = headersOf(request);
  if (!SAFE.has(method) && !headers.some(([name]) => name.toLowerCase() === 'x-requested-with'))
    headers.push(['X-Requested-With', 'curl']);
  const url = toUrl(request, origin)?.href ?? origin + request.path;
  return [
    `curl --globoff --path-as-is --cookie "${cookieName}=$COOKIE"`,
    ...toMethodOptions(method),
    ...headers.map(
      ([name, value]) => `--header ${shellQuoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
    ),
    ...(body !== '' ? [`--data-raw ${shellQuoted(body)}`] : []),
    shellQuoted(url),
  ].join(' \\\n  ');
}

/** Returns the curl options for a method. With `--request HEAD`, curl would wait for a body. */
function toMethodOptions(method: string) {
  if (method === 'GET') return [];
  return method === 'HEAD' ? ['--head'] : [`--request ${shellQuoted(method)}`];
}

function toHeadersCode(headers: readonly Pair[]) {
  const names = headers.map(([name]) => name.toLowerCase());
  if (new Set(names).size < names.length)
    return `[${headers.map(([name, value]) => `[${quoted(name)}, ${quoted(value)}]`).join(', ')}]`;
  return `{ ${headers.map(([name, value]) => `${quoted(name)}: ${quoted(value)}`).join(', ')} }`;
}

/** Returns text as a JavaScript string in single quotes. */
function quoted(text: string) {
  const inside = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  return `'${inside}'`;
}

/** Quotes text for a POSIX shell. Within single quotes, only a single quote is special. */
function shellQuoted(text: string) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
