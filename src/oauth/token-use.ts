import type { RequestContext } from '../http/request-context.ts';

/**
 * What became of the session's token with a request: it still lived; it did, and was renewed beside the request; it was
 * spent, and the request waited for a new one; the service refused it (401), and the request was `replayed` with a new one,
 * or was not; no new one could be had.
 */
type TokenUse = 'living' | 'renewed_ahead' | 'renewed' | 'replayed' | 'refused' | 'failed';

/** Notes what became of the token; who has nobody to note it for need not look. */
export function noteToken(notes: RequestContext | undefined, use: TokenUse): void {
  if (notes !== undefined) notes.token = use;
}

/** Of a request that asks several times, what happened before tells more. */
export function noteLiving(notes: RequestContext | undefined): void {
  if (notes !== undefined) notes.token ??= 'living' satisfies TokenUse;
}
