/**
 * What to do about each problem of the gateway. The console shows it beside a response, the guide lists it, and a test holds
 * docs/api.md to these words. The server imports this script, too (src/console/routes.ts).
 * @type {Readonly<Record<string, string>>}
 */
export const ADVICE = {
  sign_in_required: 'Send the user to loginUrl, with ?return_to= and a path of this site.',
  session_expired:
    'The session or its grant has ended. Send the user to loginUrl, with ?return_to= and a path of this site.',
  cross_site_request: 'Send it from a page of this origin. Without a browser, send X-Requested-With.',
  path_not_allowed:
    'Use a path that is forwarded: under /api/public/v1/, unless your operator has set API_PATHS. The authorization endpoints never are.',
  method_not_allowed: 'Use another method. TRACE is refused.',
  bad_request_target:
    'Correct the URL: no dot or empty segments, no control characters, no malformed or deeply nested encoding.',
  bad_request: 'Send HTTP/1.1 that every recipient reads in the same way, as browsers do.',
  http_version_not_supported: 'Use HTTP/1.1.',
  expectation_failed: 'Leave Expect out. Only 100-continue is supported.',
  too_many_headers: 'Send at most 100 header fields.',
  body_too_large: 'Send at most 100 MiB, unless your operator has set MAX_BODY_BYTES.',
  service_unreachable: 'Try again later. The gateway does not retry.',
  service_timeout: 'Try again later. The gateway does not retry: the service may have done its work.',
  too_busy:
    'Wait Retry-After seconds, and send fewer at once. Too many requests are in flight, of this session or of all.',
  token_endpoint_unavailable: 'Wait Retry-After seconds. The user is still signed in.',
  session_store_unavailable: 'Wait Retry-After seconds. The user is still signed in.',
  draining: 'Try again at once. Another process responds.',
  internal_error: 'Try again in a moment. If it happens again, show the request id to your operator.',
};
