import express, { type Request, type RequestHandler } from 'express';

const FORM_TYPE = 'application/x-www-form-urlencoded';

/** The largest body of a request, as body-parser writes it. */
export const MAX_BODY_SIZE = '16kb';

/**
 * Reads a form's body as text, for `formFields`. Leaves a body of another type unread. A body over 16 KiB or in an unknown
 * encoding goes to the error handler.
 */
export function readForm(): RequestHandler {
  return express.text({ type: FORM_TYPE, limit: MAX_BODY_SIZE });
}

/** The fields of a body that `readForm` has read; undefined if the request had no form. */
export function formFields(body: unknown): URLSearchParams | undefined {
  return typeof body === 'string' ? parseParameters(body) : undefined;
}

/** The query without its question mark and not decoded; empty for a URL without a query. */
export function rawQuery(req: Request): string {
  const start = req.originalUrl.indexOf('?');
  return start < 0 ? '' : req.originalUrl.slice(start + 1);
}

/** The query's parameters, repeated ones included. Express's own parser would merge those. */
export function queryParameters(req: Request): URLSearchParams {
  return parseParameters(rawQuery(req));
}

/** Parses a query or a form's body. A `?` at its start belongs to the first name; URLSearchParams alone would drop it. */
export function parseParameters(text: string): URLSearchParams {
  return new URLSearchParams(`?${text}`);
}

/** Whether a name occurs more than once, which OAuth forbids (RFC 6749 §3.1, §3.2). */
export function hasRepeatedName(parameters: URLSearchParams): boolean {
  const names = [...parameters.keys()];
  return new Set(names).size < names.length;
}
