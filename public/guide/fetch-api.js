/** @typedef {{ code?: string, detail?: string, message?: string }} ErrorBody What is known of one. */

/** An answer without a 2xx status: the service’s own, or a problem (RFC 9457) of the gateway’s. */
export class ApiError extends Error {
  /**
   * @param {Response} answer
   * @param {ErrorBody} body
   */
  constructor(answer, body) {
    super(body.detail ?? body.message ?? `The API answered ${answer.status}`);
    this.name = 'ApiError';
    this.status = answer.status;
    /** Of the gateway: one that /console/guide#codes lists. Of the service: its own. */
    this.code = body.code;
    /** Whether the service answered: the gateway then names itself in Via. */
    this.isFromService = /\bcloakroom\b/.test(answer.headers.get('via') ?? '');
    this.retryAfter = answer.headers.get('retry-after');
    /** What to mention when asking for help. */
    this.requestId = answer.headers.get('x-request-id');
  }
}

/**
 * `fetch` for the API of this origin: resolves with a 2xx answer only. Where the session has ended it sends the user to
 * sign in and come back here, and rejects all the same.
 * @param {string} path
 * @param {RequestInit} [init] Its `signal` ends the call.
 */
export async function callApi(path, init) {
  const answer = await fetch(path, init);
  if (answer.ok) return answer;
  const error = new ApiError(answer, await readError(answer));
  // A 401 of the service is no end of the session: signing in again would change nothing.
  if (error.status === 401 && !error.isFromService) {
    const here = location.pathname + location.search + location.hash;
    location.assign(`/auth/login?return_to=${encodeURIComponent(here)}`);
  }
  throw error;
}

/**
 * The service’s errors may have any shape: what is no JSON object counts as an empty one.
 * @param {Response} answer
 */
async function readError(answer) {
  const body = /** @type {unknown} */ (await answer.json().catch(() => null));
  return typeof body === 'object' && body !== null ? /** @type {ErrorBody} */ (body) : {};
}
