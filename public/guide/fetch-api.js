/** @typedef {{ code?: string, detail?: string, message?: string }} ErrorBody The known members of an error. */

/** A response without a 2xx status: an error of the service, or a problem (RFC 9457) of the gateway. */
export class ApiError extends Error {
  /**
   * @param {Response} response
   * @param {ErrorBody} body
   */
  constructor(response, body) {
    super(body.detail ?? body.message ?? `The API responded with ${response.status}`);
    this.name = 'ApiError';
    this.status = response.status;
    /** A code of the gateway (/console/guide#codes) or of the service. */
    this.code = body.code;
    /** The gateway names itself in the Via of the service’s responses. */
    this.isFromService = /\bcloakroom\b/.test(response.headers.get('via') ?? '');
    this.retryAfter = response.headers.get('retry-after');
    /** Users mention it to your operator. */
    this.requestId = response.headers.get('x-request-id');
  }
}

/**
 * `fetch` for the API of this origin: resolves with a 2xx response, and rejects otherwise.
 * Once the session has ended, it also sends the user to sign in and come back.
 * @param {string} path
 * @param {RequestInit} [init] Its `signal` ends the request.
 */
export async function fetchApi(path, init) {
  const response = await fetch(path, init);
  if (response.ok) return response;
  const error = new ApiError(response, await readError(response));
  // After a 401 of the service the session is still active, and a new sign-in would not help.
  if (error.status === 401 && !error.isFromService) {
    const here = location.pathname + location.search + location.hash;
    location.assign(`/auth/login?return_to=${encodeURIComponent(here)}`);
  }
  throw error;
}

/**
 * Errors of the service have any form. Anything but a JSON object counts as empty.
 * @param {Response} response
 */
async function readError(response) {
  const body = /** @type {unknown} */ (await response.json().catch(() => null));
  return typeof body === 'object' && body !== null ? /** @type {ErrorBody} */ (body) : {};
}
