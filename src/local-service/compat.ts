import express, { Router } from 'express';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import { LARGEST_FORM, readFormBody, toFormFields } from './form-body.ts';
import type { RegisteredClient } from './oauth-model.ts';
import { AUTHORIZATION_PATH, OAUTH_PATH, TOKEN_PATH } from './service-paths.ts';
import { moveCredentials } from './compat/basic-credentials.ts';
import { toFieldsOfJson } from './compat/json-fields.ts';

const OTHER_PATHS: ReadonlyMap<string, string> = new Map([
  [OAUTH_PATH, AUTHORIZATION_PATH],
  [`${TOKEN_PATH}/`, TOKEN_PATH],
  [`${OAUTH_PATH}/refresh`, TOKEN_PATH],
  [`${OAUTH_PATH}/refresh/`, TOKEN_PATH],
]);

/**
 * LOCAL_SERVICE_COMPAT, as a router in front of the endpoints: what clients in the wild send beyond the interface is
 * put into the interface's own words before the strict endpoints judge it. They know nothing of it, and it loosens none
 * of their rules. `errors` is a tokenErrorHandler.
 */
export function compatibility(registered: RegisteredClient, errors: ErrorRequestHandler): Router {
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
function translateTokenRequest(registered: RegisteredClient): RequestHandler {
  return (req, _res, next) => {
    const form = toFormFields(req.body) ?? toFieldsOfJson(req.body);
    if (form !== undefined) {
      moveCredentials(req, form, registered);
      req.body = form.toString();
    }
    next();
  };
}
