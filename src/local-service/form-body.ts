import express from 'express';
import type { RequestHandler } from 'express';
import { toParameters } from './request-parameters.ts';

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
