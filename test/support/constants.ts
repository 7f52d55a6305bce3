import { join } from 'node:path';

// Constants shared by many tests. A test that imported them from the product would compare the product with itself.

/** The root folder of the repository. */
export const ROOT = join(import.meta.dirname, '../..');

export const MIB = 1024 * 1024;
export const HOUR_MS = 3_600_000;

/** A path that the gateway forwards, but for which the local service has no resource. */
export const API_PATH = '/api/public/v1/things';
/** The path of the workspace list, at the service and through the gateway. */
export const WORKSPACES_PATH = '/api/public/v1/workspaces';
/** The path of the service's token endpoint. */
export const TOKEN_PATH = '/api/public/v1/authorization/oauth2/token';

/** The client that is registered with the local service. */
export const CLIENT_ID = 'demo-app';
export const CLIENT_SECRET = 'demo-secret';
/** All tests can share this key, because each test file has its own Redis. */
export const SESSION_KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
/** After a 401, the gateway refreshes a token of this age, but not a token younger than 30 s. */
export const TOKEN_AGE_MS = 31_000;

/** The header field for a body of unknown length, as it appears on the wire. */
export const CHUNKED = 'Transfer-Encoding: chunked';
/** The header fields of a page request from a browser. */
export const ACCEPT_HTML = { accept: 'text/html' };
