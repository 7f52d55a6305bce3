/** Everything that an app calls is below it (interface section 9). */
export const API_PATH = '/api/public/v1';

export const OAUTH_PATH = `${API_PATH}/authorization/oauth2`;

/** Where a browser is sent to sign in and consent; the trailing slash belongs to it. */
export const AUTHORIZATION_PATH = `${OAUTH_PATH}/`;

export const TOKEN_PATH = `${OAUTH_PATH}/token`;
