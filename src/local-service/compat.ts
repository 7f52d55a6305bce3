import OAuth2Server from '@node-oauth/oauth2-server';
import express, { Router, type ErrorRequestHandler, type Request, type RequestHandler } from 'express';
import { AUTHORIZATION_PATH } from './authorization-endpoint.ts';
import { TOKEN_FIELDS, type RegisteredClient } from './oauth-model.ts';
import { MAX_BODY_SIZE, formFields, readForm } from './request-parameters.ts';
import { isSameSecret } from './secrets.ts';
import { TOKEN_PATH } from './token-endpoint.ts';

const { InvalidClientError, InvalidRequestError } = OAuth2Server;

/** Additional path of the authorization endpoint in compatibility mode. */
export const PATH_WITHOUT_SLASH = AUTHORIZATION_PATH.slice(0, -1);

/** Alternative endpoint paths, each with the corresponding path in the interface. */
const OTHER_PATHS: ReadonlyMap<string, string> = new Map([
  [PATH_WITHOUT_SLASH, AUTHORIZATION_PATH],
  [`${TOKEN_PATH}/`, TOKEN_PATH],
  [`${AUTHORIZATION_PATH}refresh`, TOKEN_PATH],
  [`${AUTHORIZATION_PATH}refresh/`, TOKEN_PATH],
]);

/**
 * Creates the router for LOCAL_SERVICE_COMPAT. The router runs before the endpoints, and rewrites requests from common clients
 * so that they conform to the interface. The strict endpoints are unaware of this mode. `errors` is a tokenErrorHandler.
 */
export function compatibility(registered: RegisteredClient, errors: ErrorRequestHandler): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.use(rewritePath());
  const readJson = express.json({ limit: MAX_BODY_SIZE });
  router.post(TOKEN_PATH, readForm(), readJson, rewriteTokenRequest(registered));
  router.use(errors);
  return router;
}

function rewritePath(): RequestHandler {
  return (req, _res, next) => {
    const [path = ''] = req.url.split('?', 1);
    req.url = (OTHER_PATHS.get(path) ?? path) + req.url.slice(path.length);
    next();
  };
}

/** Converts a token request with a form or JSON body to a form that contains the credentials. */
function rewriteTokenRequest(registered: RegisteredClient): RequestHandler {
  return (req, _res, next) => {
    const form = formFields(req.body) ?? fieldsOfJson(req.body);
    if (form !== undefined) {
      moveCredentials(req, form, registered);
      req.body = form.toString();
    }
    next();
  };
}

/**
 * Returns the fields of a JSON token request, or undefined if the body is not JSON. A null value is treated as absent. Throws
 * InvalidRequestError if the body is not an object, or if a field is not a string.
 */
function fieldsOfJson(body: unknown): URLSearchParams | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if (Array.isArray(body)) throw new InvalidRequestError('A JSON body must be an object.');
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    if (value === null || !TOKEN_FIELDS.some((field) => field === name)) continue;
    if (typeof value !== 'string') throw new InvalidRequestError(`${name} must be a string.`);
    form.append(name, value);
  }
  return form;
}

/**
 * Moves the credentials from an `Authorization: Basic` header to the form. Throws InvalidClientError for any other scheme, and
 * InvalidRequestError if the form has different credentials (RFC 6749 §2.3).
 */
function moveCredentials(req: Request, form: URLSearchParams, registered: RegisteredClient): void {
  const header = req.get('authorization');
  if (header === undefined) return;
  const credentials = parseBasic(header, registered);
  if (credentials === undefined)
    throw new InvalidClientError('The Authorization header is not HTTP Basic with an id and a secret.');
  for (const [name, value] of [
    ['client_id', credentials.clientId],
    ['client_secret', credentials.clientSecret],
  ] as const) {
    const inForm = form.get(name);
    if (inForm && inForm !== value)
      throw new InvalidRequestError(
        `The Authorization header and the body have different values for ${name}.`,
      );
    if (!inForm) form.set(name, value);
  }
  delete req.headers.authorization;
}

/**
 * Parses an HTTP Basic header (RFC 7617 §2). RFC 6749 §2.3.1 requires form-encoding the id and secret, but many clients send
 * both unencoded. Credentials that already match the registered app are not decoded.
 */
function parseBasic(header: string, registered: RegisteredClient): RegisteredClient | undefined {
  const encoded = /^Basic +(?<text>[A-Za-z0-9+/]+=*)$/i.exec(header)?.groups?.['text'];
  if (encoded === undefined) return undefined;
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const isPlain = isSameSecret(id, registered.clientId) && isSameSecret(secret, registered.clientSecret);
  return isPlain
    ? { clientId: id, clientSecret: secret }
    : { clientId: decodeForm(id) ?? id, clientSecret: decodeForm(secret) ?? secret };
}

/** Decodes form-encoded text. Returns undefined if the encoding is malformed. */
function decodeForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
