/**
 * Path of the service's authorization endpoints (docs/local-service.md, 4.1 to 4.3), without a trailing slash. The gateway
 * forwards nothing at or under it.
 */
export const AUTHORIZATION_PATH = '/api/public/v1/authorization/oauth2';
