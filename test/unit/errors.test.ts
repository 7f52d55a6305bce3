import { expect, test } from '@jest/globals';
import { AppError, GATEWAY_PROBLEMS, toAppError } from '../../src/errors.ts';

test.each([
  ['too_busy', { 'retry-after': '1' }],
  ['token_endpoint_unavailable', { 'retry-after': '2' }],
  ['session_store_unavailable', { 'retry-after': '2' }],
  ['draining', { 'retry-after': '1', connection: 'close' }],
  ['bad_request', { connection: 'close' }],
  ['path_not_allowed', {}],
] as const)('%s has the headers from the problem table', (code, headers) => {
  expect(new AppError(code).headers).toEqual(headers);
});

test('every 503 from the gateway has a Retry-After header', () => {
  const unavailable = Object.entries(GATEWAY_PROBLEMS).filter(([, { status }]) => status === 503);
  expect(unavailable.filter(([, problem]) => !('retryAfterSeconds' in problem))).toEqual([]);
});

test('an error may override the retry time and list the allowed methods', () => {
  const error = new AppError('too_busy', { retryAfterSeconds: 7, allow: 'GET' });
  expect(error.headers).toEqual({ 'retry-after': '7', allow: 'GET' });
});

test('an error without a code does not reveal its message', () => {
  const cause = new Error('secret');
  const { message, code, status, detail } = toAppError(cause);
  expect({ code, status }).toEqual({ code: 'internal_error', status: 500 });
  expect(`${message} ${detail}`).not.toContain('secret');
});
