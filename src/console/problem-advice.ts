/**
 * Advice on each problem from the gateway. The console shows the advice with a response, and the guide lists it. A test
 * compares the advice with docs/api.md. This module is bundled into the console's script.
 */
export const ADVICE: Readonly<Record<string, string>> = {
  sign_in_required:
    'No valid session cookie was sent. Send the user to loginUrl with ?return_to= and a path on this site.',
  session_expired:
    'The session expired, reached its maximum age, or was revoked by the service. Send the user to loginUrl.',
  cross_site_request: 'Send the request from a page on this origin. Outside a browser, add X-Requested-With.',
  path_not_allowed:
    'Use a path under API_PATHS (default /api/public/v1/). The OAuth endpoints there are blocked.',
  method_not_allowed: 'Use another method. TRACE is refused.',
  bad_request_target:
    'Remove dot segments, empty segments, control characters and malformed encoding from the URL.',
  bad_request: 'Send valid, unambiguous HTTP/1.1.',
  http_version_not_supported: 'Use HTTP/1.1.',
  expectation_failed: 'Leave out Expect, or set it to 100-continue.',
  too_many_headers: 'Send at most 100 header fields.',
  body_too_large: 'Send at most MAX_BODY_BYTES (default 100 MiB).',
  service_unreachable: 'Try again later. The service may have processed the request.',
  service_timeout: 'Try again later. The service may have processed the request.',
  too_busy: 'Wait Retry-After seconds, and send fewer requests at the same time.',
  token_endpoint_unavailable: 'Wait Retry-After seconds. The user is still signed in.',
  session_store_unavailable: 'Wait Retry-After seconds. The user is still signed in.',
  draining: 'Wait Retry-After seconds. This process is shutting down; another will respond.',
  internal_error: 'Try again. If the problem persists, give the request id to your operator.',
};
