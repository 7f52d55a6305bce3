/** Of the authorization endpoint (RFC 6749 §4.1.2.1) and the token endpoint (§5.2). */
const CODES: ReadonlySet<string> = new Set([
  'access_denied',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
]);

/** What an endpoint says of itself, and not of whoever asked (§4.1.2.1). */
const OUTAGES: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/** Whether an `error` says that the endpoint is out of order, and nothing of what it was sent. */
export function isOutage(error: string): boolean {
  return OUTAGES.has(error);
}

/** Whether an `error` is one of OAuth’s own codes, and no word of somebody else’s. */
export function isOAuthError(error: string): boolean {
  return CODES.has(error);
}

/** What may be logged of an `error`: any other than OAuth’s own may quote what was sent, or be anybody’s query value. */
export function toLoggedOAuthError(error: string): string {
  return isOAuthError(error) ? error : 'an unknown error';
}
