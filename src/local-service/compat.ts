import OAuth2Server from '@node-oauth/oauth2-server';
import express, { Router } from 'express';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { LARGEST_FORM, readFormBody, toFormFields } from './form-body.ts';
import { sameSecret } from './secrets.ts';
import { AUTHORIZATION_PATH, OAUTH_PATH, TOKEN_PATH } from './service-paths.ts';
import { TOKEN_FIELDS } from './token-request.ts';

const { InvalidClientError, InvalidRequestError } = OAuth2Server;

/**
 * LOCAL_SERVICE_COMPAT: what clients in the wild send beyond the interface is put into the interface's own words
 * before the strict endpoints judge it. They know nothing of it, and it loosens none of their rules.
 */

const OTHER_PATHS: ReadonlyMap<string, string> = new Map([
  [OAUTH_PATH, AUTHORIZATION_PATH],
  [`${TOKEN_PATH}/`, TOKEN_PATH],
  [`${OAUTH_PATH}/refresh`, TOKEN_PATH],
  [`${OAUTH_PATH}/refresh/`, TOKEN_PATH],
]);

/** The client's id and secret. */
interface Credentials {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The compatibility mode, as a router in front of the endpoints; `errors` answers what is no token request. */
export function compatibility(registered: Credentials, errors: ErrorRequestHandler): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.use(translatePath());
  router.post(
    TOKEN_PATH,
    readFormBody(),
    express.json({ limit: LARGEST_FORM }),
    translateTokenRequest(registered),
  );
  router.use(errors);
  return router;
}

/** Leads the other spellings of the authorization and token endpoints' paths to the one of the interface. */
function translatePath(): RequestHandler {
  return (req, _res, next) => {
    const [path = ''] = req.url.split('?', 1);
    req.url = (OTHER_PATHS.get(path) ?? path) + req.url.slice(path.length);
    next();
  };
}

/**
 * Makes a form of a token request, whether its body was one or JSON, with its credentials in the body, whether they
 * came there or as HTTP Basic. Throws InvalidRequestError for a body that can't be one, or other credentials in
 * each place (RFC 6749 §2.3), and InvalidClientError for a header that isn't HTTP Basic.
 */
function translateTokenRequest(registered: Credentials): RequestHandler {
  return (req, _res, next) => {
    const form = toFormFields(req.body) ?? toFieldsOfJson(req.body);
    if (form !== undefined) {
      moveCredentials(req, form, registered);
      req.body = form.toString();
    }
    next();
  };
}

function toFieldsOfJson(body: unknown): URLSearchParams | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if (Array.isArray(body)) throw new InvalidRequestError('A JSON body must be an object.');
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    if (!isTokenField(name) || value === null) continue;
    if (typeof value !== 'string') throw new InvalidRequestError(`${name} must be a string.`);
    form.append(name, value);
  }
  return form;
}

function isTokenField(name: string): boolean {
  return TOKEN_FIELDS.some((field) => field === name);
}

function moveCredentials(req: Request, form: URLSearchParams, registered: Credentials): void {
  const header = req.get('authorization');
  if (header === undefined) return;
  const credentials = toCredentials(header, registered);
  if (credentials === undefined) {
    throw new InvalidClientError('The Authorization header is not HTTP Basic with an id and a secret.');
  }
  for (const [name, value] of [
    ['client_id', credentials.clientId],
    ['client_secret', credentials.clientSecret],
  ] as const) {
    const known = form.get(name);
    if (known && known !== value) {
      throw new InvalidRequestError(`The Authorization header and the body have another ${name} each.`);
    }
    if (!form.has(name)) form.append(name, value);
    else if (!known) form.set(name, value);
  }
  delete req.headers.authorization;
}

/**
 * What an HTTP Basic header says (RFC 7617 §2). RFC 6749 §2.3.1 wants id and secret encoded as in a form before; many
 * clients don't: whichever reading is the registered app's is the one.
 */
function toCredentials(header: string, registered: Credentials): Credentials | undefined {
  const encoded = /^Basic +(?<text>[A-Za-z0-9+/]+=*)$/i.exec(header)?.groups?.['text'];
  if (encoded === undefined) return undefined;
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const asSent = { clientId: id, clientSecret: secret };
  return isSame(asSent, registered)
    ? asSent
    : { clientId: fromForm(id) ?? id, clientSecret: fromForm(secret) ?? secret };
}

function isSame(one: Credentials, other: Credentials): boolean {
  return sameSecret(one.clientId, other.clientId) && sameSecret(one.clientSecret, other.clientSecret);
}

/** Undefined where it isn't form-encoded. */
function fromForm(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
