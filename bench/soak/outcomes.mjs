/**
 * Names the outcome of a response by its origin, such as `502 service_unreachable` from the gateway, `429 forwarded` from the service, or
 * `503 “Cloakroom is briefly unavailable”` from a page. HAProxy’s own page is `502 “502 Bad Gateway”`. A `500` without a code or title
 * has no known origin.
 * @param {{ status: number, headers: Readonly<Record<string, string | string[] | undefined>>, text: string }} response
 */
export function outcomeOf({ status, headers, text }) {
  if (headers['via'] !== undefined) return `${status} forwarded`;
  if (headers['content-type'] === 'application/problem+json') {
    const { code } = /** @type {{ code: string }} */ (JSON.parse(text));
    return `${status} ${code}`;
  }
  const [, title] = /<h1[^>]*>([^<]*)</.exec(text) ?? [];
  return title === undefined ? String(status) : `${status} “${title.trim()}”`;
}

/** The service refused an expired or revoked token, and the streamed body can't be sent again. */
export const NOT_RESENT = '401 forwarded, streamed body not sent again';
/** An export was cut off, because one of its upstream requests failed. */
export const INCOMPLETE_EXPORT = 'incomplete export';
