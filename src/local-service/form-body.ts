import express from 'express';
import type { RequestHandler } from 'express';

const FORM_TYPE = 'application/x-www-form-urlencoded';
/** The most that a form may hold, as body-parser writes it. */
export const LARGEST_FORM = '16kb';

/**
 * Reads a form's body as text, for `toFormFields`. A body of another type is left unread; one over 16 KiB or in an
 * unknown encoding goes to the error handler.
 */
export function readFormBody(): RequestHandler {
  return express.text({ type: FORM_TYPE, limit: LARGEST_FORM });
}

/** The fields of a body that `readFormBody` read, or undefined where there was none of its type. */
export function toFormFields(body: unknown): URLSearchParams | undefined {
  return typeof body === 'string' ? toParameters(body) : undefined;
}

/** The parameters of a form's body or a query, with their repetitions; a `?` at the beginning is part of a name. */
export function toParameters(text: string): URLSearchParams {
  return new URLSearchParams(`?${text}`);
}

/** The first name that occurs more than once, which OAuth forbids (RFC 6749 §3.1, §3.2). */
export function repeatedName(fields: URLSearchParams): string | undefined {
  const seen = new Set<string>();
  for (const name of fields.keys()) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
