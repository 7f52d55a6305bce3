import { expect } from '@jest/globals';
import { DESCRIPTION } from './answers.ts';
import type { Answer } from './raw-call.ts';

/** The four of interface section 7. */
const OAUTH_ERRORS = ['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type'];

/** For what a mangling left good: an `expect` of its own may not be conditional. */
export function expectStatus(answer: Answer, status: number): void {
  expect(answer.status).toBe(status);
}

/** An error in the API's shape and nothing else. */
export function expectApiError(answer: Answer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(JSON.parse(answer.text)).toEqual({ code, message: expect.stringMatching(/.+/), details: [] });
  expect(answer.get('content-type')).toMatch(/^application\/json/);
}

/** An error of the token endpoint, in its shape (RFC 6749 §5.2) and with its status; one of `errors`. */
export function expectTokenError(answer: Answer, errors: readonly string[] = OAUTH_ERRORS): void {
  const body = JSON.parse(answer.text) as { error: string };
  expect(body).toEqual({
    error: expect.stringMatching(new RegExp(`^(?:${errors.join('|')})$`)),
    error_description: DESCRIPTION,
  });
  expect(answer.status).toBe(body.error === 'invalid_client' ? 401 : 400);
  expect(answer.get('content-type')).toMatch(/^application\/json/);
  expect(answer.get('cache-control')).toBe('no-store');
}

/** A page, whole, that sends the browser nowhere. */
export function expectPage(answer: Answer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.get('location')).toBeUndefined();
  expect(answer.get('content-type')).toMatch(/^text\/html/);
  expect(answer.text.trimEnd()).toMatch(/<\/html>$/);
}
