/**
 * What came instead of what was asked for, in words that tell whose answer it was: `502 service_unreachable` of the gateway,
 * `429 passed on` of the service, `503 “Cloakroom is briefly unavailable”` of a page (HAProxy's own pages are called
 * `502 Bad Gateway`), a bare `500` of whoever said nothing more.
 * @param {{ status: number, headers: Readonly<Record<string, string | string[] | undefined>>, text: string }} answer
 */
export function outcomeOf({ status, headers, text }) {
  if (headers['via'] !== undefined) return `${status} passed on`;
  if (headers['content-type'] === 'application/problem+json') {
    const { code } = /** @type {{ code: string }} */ (JSON.parse(text));
    return `${status} ${code}`;
  }
  const [, title] = /<h1[^>]*>([^<]*)</.exec(text) ?? [];
  return title === undefined ? String(status) : `${status} “${title.trim()}”`;
}

/** A call whose token was spent or refused on its way, and whose body is too large to be sent again. */
export const TOO_LARGE_TO_REPEAT = '401 passed on, too large to repeat';
/** A list that was to be exported broke off: it may ask for many pages, and anything may befall each of them. */
export const HALF_AN_EXPORT = 'half an export';
