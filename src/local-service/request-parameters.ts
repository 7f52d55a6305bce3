import express, { type Request, type RequestHandler } from 'express';

const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Maximum size of a request body, in body-parser's notation. */
export const MAX_BODY_SIZE = '16kb';

/**
 * Reads a form body as text, for `formFields`. Leaves bodies of other types unread. For a body over 16 KiB or in an
 * unknown encoding, calls the error handler.
 */
export function readForm(): RequestHandler {
  return express.text({ type: FORM_TYPE, limit: MAX_BODY_SIZE });
}

/** Returns the fields of a body that `readForm` has read; undefined if the request had no form. */
export function formFields(body: unknown): URLSearchParams | undefined {
  return typeof body === 'string' ? parseParameters(body) : undefined;
}

/** Returns the undecoded query without its question mark, or an empty string if the URL has no query. */
export function rawQuery(req: Request): string {
  const start = req.originalUrl.indexOf('?');
  return start < 0 ? '' : req.originalUrl.slice(start + 1);
}

/** Returns the query parameters, including repeated parameters, which Express's own parser would merge. */
export function queryParameters(req: Request): URLSearchParams {
  return parseParameters(rawQuery(req));
}

/** Parses a query string or a form body. A leading `?` belongs to the first name; URLSearchParams alone would drop the `?`. */
export function parseParameters(text: string): URLSearchParams {
  return new URLSearchParams(`?${text}`);
}

/** Returns whether a name occurs more than once, which OAuth forbids (RFC 6749 §3.1, §3.2). */
export function hasRepeatedName(parameters: URLSearchParams): boolean {
  const names = [...parameters.keys()];
  return new Set(names).size < names.length;
}
