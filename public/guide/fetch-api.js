/** @typedef {{ code?: string, detail?: string, message?: string }} ErrorBody */

/** An error from the service or the gateway. */
export class ApiError extends Error {
  /**
   * @param {Response} response
   * @param {ErrorBody} body
   */
  constructor(response, body) {
    super(body.detail ?? body.message ?? `The API responded with ${response.status}`);
    this.name = 'ApiError';
    this.status = response.status;
    /** See /console/guide#codes. */
    this.code = body.code;
    /** Only responses from the service have `Via: 1.1 cloakroom`. */
    this.isFromService = /\bcloakroom\b/.test(response.headers.get('via') ?? '');
    this.retryAfter = response.headers.get('retry-after');
    /** Quote this id to your operator. */
    this.requestId = response.headers.get('x-request-id');
  }
}

/**
 * Works like `fetch`, but rejects with an ApiError unless the status is 2xx.
 * If the session has ended, starts sign-in, which returns to this page.
 * @param {string} path
 * @param {RequestInit} [init] Its `signal` aborts the request.
 */
export async function fetchApi(path, init) {
  const response = await fetch(path, init);
  if (response.ok) return response;
  const error = new ApiError(response, await readError(response));
  // A 401 from the service does not end the session, and a new sign-in would not help.
  if (error.status === 401 && !error.isFromService) {
    const here = location.pathname + location.search + location.hash;
    location.assign(`/auth/login?return_to=${encodeURIComponent(here)}`);
  }
  throw error;
}

/**
 * Returns an empty object unless the body is a JSON object.
 * @param {Response} response
 */
async function readError(response) {
  const body = /** @type {unknown} */ (await response.json().catch(() => null));
  return typeof body === 'object' && body !== null ? /** @type {ErrorBody} */ (body) : {};
}
