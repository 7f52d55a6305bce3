import { join } from 'node:path';

// Constants for many tests. They are not imported from the product, because comparing it with itself would prove nothing.

/** The folder of the repository. */
export const ROOT = join(import.meta.dirname, '../..');

export const MIB = 1024 * 1024;
export const HOUR_MS = 3_600_000;

/** A path that the gateway forwards. The local service has no resource there. */
export const API_PATH = '/api/public/v1/things';
/** The list of workspaces, at the service and behind the gateway. */
export const WORKSPACES_PATH = '/api/public/v1/workspaces';
/** The token endpoint of the service. */
export const TOKEN_PATH = '/api/public/v1/authorization/oauth2/token';

/** The client that is registered with the local service. */
export const CLIENT_ID = 'demo-app';
export const CLIENT_SECRET = 'demo-secret';
/** Shared by all tests, because each test file has its own Redis. */
export const SESSION_KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
/** Old enough for a token to be refreshed after a 401. A token younger than 30 s is not. */
export const TOKEN_AGE_MS = 31_000;

/** The header field for a body of unknown length, as written on the wire. */
export const CHUNKED = 'Transfer-Encoding: chunked';
/** The header fields of a browser's request for a page. */
export const ACCEPT_HTML = { accept: 'text/html' };
