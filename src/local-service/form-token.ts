import { createHmac } from 'node:crypto';
import { sameSecret } from './secrets.ts';

/**
 * The token that a form carries against cross-site posts. Made from the browser's secret cookie and the request that
 * the form was shown for: a form that was shown for one app or scope can't be sent for another.
 */
export function toFormToken(browserSecret: string, query: string): string {
  return createHmac('sha256', browserSecret).update(`form\n${query}`).digest('base64url');
}

/** Whether a posted form was shown to this browser, for this very request. */
export function isFormTokenOf(token: string, browserSecret: string | undefined, query: string): boolean {
  return browserSecret !== undefined && sameSecret(token, toFormToken(browserSecret, query));
}
