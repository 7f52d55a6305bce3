/** What to do about each of the gateway’s own answers: the table of docs/api.md, which a test holds to this one. */

/** @type {Readonly<Record<string, string>>} */
export const PROBLEM_ADVICE = {
  sign_in_required: 'Send the user to loginUrl, with ?return_to= and a path of this site.',
  session_expired:
    'Send the user to loginUrl, with ?return_to= and a path of this site: the session, or what the service granted, has ended.',
  cross_site_request: 'Call from a page of this origin; without a browser, send X-Requested-With.',
  path_not_allowed: 'Call a path under API_PATHS; the authorization endpoints are never forwarded.',
  method_not_allowed: 'Use another method: TRACE and CONNECT are refused.',
  bad_request_target:
    'Mend the address: no dot or empty segments, control characters, malformed or deeply nested encoding.',
  bad_request: 'Send HTTP/1.1 that everyone reads alike.',
  request_timeout: 'Send the whole request in less time.',
  expectation_failed: 'Leave Expect out: only 100-continue is known.',
  too_many_headers: 'Send at most 100 header fields, and a head of at most 16 KiB.',
  body_too_large: 'Send at most MAX_BODY_BYTES.',
  service_unreachable: 'Try again later; nothing was repeated for you.',
  service_timeout: 'Try again later; nothing was repeated for you, but the service may have done its work.',
  too_busy:
    'Wait Retry-After seconds, and send fewer at once: too many calls are in flight, of this session or of all.',
  token_endpoint_unavailable: 'Wait Retry-After seconds. The user is still signed in.',
  session_store_unavailable: 'Wait Retry-After seconds. The user is still signed in.',
  draining: 'Try again at once: another process answers.',
  internal_error:
    'Try again in a moment; if it happens again, show the request id to whoever runs Cloakroom.',
};
