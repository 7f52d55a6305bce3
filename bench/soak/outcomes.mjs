/**
 * Names the outcome of a response by its source: `502 service_unreachable` of the gateway, `429 passed on` of the service,
 * `503 “Cloakroom is briefly unavailable”` of a page (HAProxy's own page is `502 Bad Gateway`), a bare `500` of an unknown one.
 * @param {{ status: number, headers: Readonly<Record<string, string | string[] | undefined>>, text: string }} response
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

/** The token of the request expired or was refused on the way, and its body is too large to be sent again. */
export const TOO_LARGE_TO_REPEAT = '401 passed on, too large to repeat';
/** An export was cut off, because one of its upstream requests failed. */
export const HALF_AN_EXPORT = 'half an export';
