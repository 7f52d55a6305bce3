import { join } from 'node:path';

// Constants of many tests. They don't come from the product: a test that compared the product with itself would prove nothing.

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

/** The client that is registered at the local service. */
export const CLIENT_ID = 'demo-app';
export const CLIENT_SECRET = 'demo-secret';
/** One key for all tests: each file has a Redis of its own. */
export const SESSION_KEY = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
/** A token of this age is refreshed after a 401; one of less than 30 s is not. */
export const TOKEN_AGE_MS = 31_000;

/** The header field of a body of unknown length, as it stands on the wire. */
export const CHUNKED = 'Transfer-Encoding: chunked';
/** The header fields of a browser's request for a page. */
export const ACCEPT_HTML = { accept: 'text/html' };
