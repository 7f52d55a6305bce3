/**
 * The gateway’s own answers, and what to do about each. The console says it of an answer, the guide lists them, and so
 * does docs/api.md, which a test holds to these words. The server runs this script, too, for the guide
 * (src/console/gateway-problems.ts): there is no browser around it there.
 */

/** @type {Readonly<Record<string, { status: number, advice: string }>>} */
export const GATEWAY_PROBLEMS = {
  sign_in_required: {
    status: 401,
    advice: 'Send the user to loginUrl, with ?return_to= and a path of this site.',
  },
  session_expired: {
    status: 401,
    advice:
      'Send the user to loginUrl, with ?return_to= and a path of this site: the session, or what the service granted, has ended.',
  },
  cross_site_request: {
    status: 403,
    advice: 'Call from a page of this origin; without a browser, send X-Requested-With.',
  },
  path_not_allowed: {
    status: 404,
    advice:
      'Call a path that is forwarded: under /api/public/v1/, unless whoever runs Cloakroom has set API_PATHS. The authorization endpoints never are.',
  },
  method_not_allowed: { status: 405, advice: 'Use another method: TRACE is refused.' },
  bad_request_target: {
    status: 400,
    advice:
      'Mend the address: no dot or empty segments, control characters, malformed or deeply nested encoding.',
  },
  bad_request: {
    status: 400,
    advice: 'Send HTTP/1.1 that every recipient reads in the same way, as browsers do.',
  },
  http_version_not_supported: { status: 505, advice: 'Use HTTP/1.1.' },
  expectation_failed: { status: 417, advice: 'Leave Expect out: only 100-continue is known.' },
  too_many_headers: {
    status: 431,
    advice: 'Send at most 100 header fields.',
  },
  body_too_large: {
    status: 413,
    advice: 'Send at most 100 MiB, unless whoever runs Cloakroom has set MAX_BODY_BYTES.',
  },
  service_unreachable: { status: 502, advice: 'Try again later; the gateway does not do so by itself.' },
  service_timeout: {
    status: 504,
    advice: 'Try again later; the gateway does not do so by itself, as the service may have done its work.',
  },
  too_busy: {
    status: 503,
    advice:
      'Wait Retry-After seconds, and send fewer at once: too many calls are in flight, of this session or of all.',
  },
  token_endpoint_unavailable: {
    status: 503,
    advice: 'Wait Retry-After seconds. The user is still signed in.',
  },
  session_store_unavailable: {
    status: 503,
    advice: 'Wait Retry-After seconds. The user is still signed in.',
  },
  draining: { status: 503, advice: 'Try again at once: another process answers.' },
  internal_error: {
    status: 500,
    advice: 'Try again in a moment; if it happens again, show the request id to whoever runs Cloakroom.',
  },
};
