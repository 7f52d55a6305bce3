import type { Server } from 'node:http';
import { expect } from '@jest/globals';
import request, { type Response } from 'supertest';
import { CALLBACK, type RawResponse } from './requests.ts';

const JSON_TYPE = 'application/json';
const ANY_TEXT: unknown = expect.stringMatching(/.+/);

/** Matches a token from the service. */
export const ANY_TOKEN: unknown = expect.stringMatching(/^[\w-]{43}$/);

/** Matches a valid error_description (RFC 6749 §5.2). */
export const ANY_ERROR_DESCRIPTION: unknown = expect.stringMatching(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);

/** The four token endpoint errors in section 7 of the interface. */
const TOKEN_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unsupported_grant_type',
] as const;
export type TokenError = (typeof TOKEN_ERRORS)[number];

/** Returns the parts of a JSON response that tests compare. */
export function outcomeOf(res: Response) {
  return { status: res.status, type: res.type, cache: res.get('cache-control'), body: res.body as unknown };
}

const outcome = (status: number, body: unknown) => ({ status, type: JSON_TYPE, cache: 'no-store', body });

/** Returns the outcome of a successful request. */
export function success(body: unknown) {
  return outcome(200, body);
}

/** Returns the outcome of a refused token request. */
export function tokenRefusal(error: TokenError) {
  const status = error === 'invalid_client' ? 401 : 400;
  return outcome(status, { error, error_description: ANY_ERROR_DESCRIPTION });
}

/** The outcome of a code exchange, or of a refresh with rotation. */
export const TOKENS = success({ access_token: ANY_TOKEN, expires_in: 900, refresh_token: ANY_TOKEN });
/** The outcome of a refresh. */
export const NEW_TOKEN = success({ access_token: ANY_TOKEN, expires_in: 900 });
export const INVALID_GRANT = tokenRefusal('invalid_grant');
export const INVALID_REQUEST = tokenRefusal('invalid_request');

/** Returns the outcome of a refused API request. */
export function apiRefusal(status: number, code: string) {
  return outcome(status, { code, message: ANY_TEXT, details: [] });
}

/** Resolves with the outcome of the first step of an authorization request: a page, or a redirect to the app. */
export async function authorizationOutcome(server: Server, url: string) {
  const res = await request(server).get(url);
  const location = res.get('location');
  if (location === undefined) {
    return { status: res.status, type: res.type, isSignInPage: res.text.includes('type="password"') };
  }
  const { origin, pathname, searchParams } = new URL(location);
  return { status: res.status, to: origin + pathname, parameters: Object.fromEntries(searchParams) };
}

/** The outcome of a valid authorization request: the sign-in page. */
export const SHOWS_SIGN_IN_PAGE = { status: 200, type: 'text/html', isSignInPage: true };

/** The outcome of an authorization request without a trusted redirect target. */
export const SHOWS_ERROR_PAGE = { status: 400, type: 'text/html', isSignInPage: false };

/** Returns the outcome of a faulty authorization request with a trusted redirect target: a redirect with the error and the state. */
export function redirectsWithError(error: string) {
  return {
    status: 303,
    to: CALLBACK,
    parameters: { error, error_description: ANY_TEXT, state: 'a state & more' },
  };
}

/** Checks a response's status. Use this for conditional checks, because the linter forbids a conditional `expect` in a test. */
export function expectStatus(response: RawResponse, status: number): void {
  expect(response.status).toBe(status);
}

/** Checks for an error in the API's format. */
export function expectApiError(response: RawResponse, status: number, code: string): void {
  expect(response.status).toBe(status);
  expect(JSON.parse(response.text)).toEqual({ code, message: ANY_TEXT, details: [] });
  expect(response.get('content-type')).toMatch(/^application\/json/);
}

/** Checks for one of these token endpoint errors, with the right shape (RFC 6749 §5.2) and status. */
export function expectTokenError(response: RawResponse, errors: readonly string[] = TOKEN_ERRORS): void {
  const body = JSON.parse(response.text) as { error: string };
  expect(body).toEqual({
    error: expect.stringMatching(new RegExp(`^(?:${errors.join('|')})$`)),
    error_description: ANY_ERROR_DESCRIPTION,
  });
  expect(response.status).toBe(body.error === 'invalid_client' ? 401 : 400);
  expect(response.get('content-type')).toMatch(/^application\/json/);
  expect(response.get('cache-control')).toBe('no-store');
}

/** Checks for a complete page, not a redirect. */
export function expectPage(response: RawResponse, status: number): void {
  expect(response.status).toBe(status);
  expect(response.get('location')).toBeUndefined();
  expect(response.get('content-type')).toMatch(/^text\/html/);
  expect(response.text.trimEnd()).toMatch(/<\/html>$/);
}
