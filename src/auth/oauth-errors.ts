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

/** Whether an `error` is one of OAuth’s own codes, and no word of somebody else’s. */
export function isOAuthError(error: string): boolean {
  return CODES.has(error);
}

/** What may be logged of an `error`: any other than OAuth’s own may quote what was sent, or be anybody’s query value. */
export function toLoggedOAuthError(error: string): string {
  return isOAuthError(error) ? error : 'an unknown error';
}
