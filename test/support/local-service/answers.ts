import { expect } from '@jest/globals';
import type { Response } from 'supertest';

const JSON_TYPE = 'application/json';
const WORDS: unknown = expect.stringMatching(/.+/);

/** A token as the service writes them. */
export const A_TOKEN: unknown = expect.stringMatching(/^[\w-]{43}$/);

/** What a client sees of a JSON answer; the body is compared whole. */
export function outcomeOf(res: Response) {
  return { status: res.status, type: res.type, body: res.body as unknown };
}

/** The outcome of a call that went well. */
export function success(body: unknown) {
  return { status: 200, type: JSON_TYPE, body };
}

/** The four of interface section 7. */
export type TokenError = 'invalid_request' | 'invalid_client' | 'invalid_grant' | 'unsupported_grant_type';

/** All that may be in an error_description (RFC 6749 §5.2). */
export const DESCRIPTION: unknown = expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);

/** The outcome of a token request that is refused. */
export function tokenRefusal(error: TokenError) {
  const status = error === 'invalid_client' ? 401 : 400;
  return { status, type: JSON_TYPE, body: { error, error_description: DESCRIPTION } };
}

/** The outcome of an API call that is refused. */
export function apiRefusal(status: number, code: string) {
  return { status, type: JSON_TYPE, body: { code, message: WORDS, details: [] } };
}
