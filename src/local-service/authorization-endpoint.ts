import { Router, type ErrorRequestHandler, type Request, type RequestHandler, type Response } from 'express';
import {
  checkAuthorizationRequest,
  toCallback,
  type AuthorizationRequest,
  type Registration,
} from './authorization-request.ts';
import {
  findAccount,
  isValidFormToken,
  toFormToken,
  type Account,
  type BrowserSignIn,
} from './browser-sign-in.ts';
import { refuseMethod } from './error-responses.ts';
import type { OAuthStore } from './oauth-store.ts';
import type { Pages } from './pages.ts';
import { formFields, hasRepeatedName, rawQuery, readForm } from './request-parameters.ts';

/** Path of the authorization endpoint, with its trailing slash (interface 4.1). */
export const AUTHORIZATION_PATH = '/api/public/v1/authorization/oauth2/';

interface AuthorizationParts {
  readonly registration: Registration;
  readonly store: OAuthStore;
  readonly signIn: BrowserSignIn;
  readonly pages: Pages;
}

/**
 * Serves `GET …/oauth2/` (RFC 6749 §3.1, interface 4.1): the sign-in page, then the consent page. Both forms post to the same URL,
 * including its query. Every step therefore checks the entire request again, and the service keeps no state between steps.
 */
export function authorizationEndpoint(parts: AuthorizationParts, errors: ErrorRequestHandler): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.get(AUTHORIZATION_PATH, showForm(parts));
  router.post(AUTHORIZATION_PATH, readForm(), takeForm(parts));
  router.all(AUTHORIZATION_PATH, refuseMethod('GET, HEAD, POST'));
  router.use(errors);
  return router;
}

function showForm(parts: AuthorizationParts): RequestHandler {
  return async (req, res) => {
    const request = acceptRequest(parts, req, res);
    if (request === undefined) return;
    const { secret, account } = await parts.signIn.recognise(req);
    const formToken = toFormToken(secret ?? parts.signIn.setCookie(res), rawQuery(req));
    res.send(
      account === undefined
        ? parts.pages.signIn(addressOf(req), formToken)
        : parts.pages.consent(addressOf(req), formToken, account, request),
    );
  };
}

function takeForm(parts: AuthorizationParts): RequestHandler {
  return async (req, res) => {
    const request = acceptRequest(parts, req, res);
    if (request === undefined) return;
    const address = addressOf(req);
    const browser = await parts.signIn.recognise(req);
    const form = formFields(req.body) ?? new URLSearchParams();
    const formToken = form.get('form_token') ?? '';
    const step = hasRepeatedName(form) ? '' : (form.get('step') ?? '');
    if (!isValidFormToken(formToken, browser.secret, rawQuery(req))) {
      // If the user has since signed in using another tab, continue to the consent page.
      if (step === 'sign-in' && browser.account !== undefined) redirect(res, address);
      else res.status(403).send(parts.pages.staleForm(address));
      return;
    }

    switch (step) {
      case 'sign-in': {
        const userName = form.get('username') ?? '';
        const account = findAccount(userName.trim(), form.get('password') ?? '');
        if (account === undefined) {
          res.status(401).send(parts.pages.signIn(address, formToken, userName));
          return;
        }
        await parts.signIn.signIn(res, browser, account);
        redirect(res, address);
        return;
      }
      case 'switch':
        await parts.signIn.signOut(res, browser);
        redirect(res, address);
        return;
      case 'allow':
        // If the sign-in has since expired, the same URL shows the sign-in page again.
        redirect(res, browser.account === undefined ? address : await allow(parts, browser.account, request));
        return;
      case 'deny':
        redirect(res, denialOf(request));
        return;
      default:
        res.status(400).send(parts.pages.noChoice(address));
    }
  };
}

/** Returns the URL that receives the forms for this request and shows the next form. */
function addressOf(req: Request): string {
  return `${AUTHORIZATION_PATH}?${rawQuery(req)}`;
}

/** Returns the authorization request if it is valid. Otherwise, responds with an error and returns undefined. */
function acceptRequest(
  { registration, pages }: AuthorizationParts,
  req: Request,
  res: Response,
): AuthorizationRequest | undefined {
  const check = checkAuthorizationRequest(rawQuery(req), registration);
  if (check.kind === 'accepted') return check.request;
  if (check.kind === 'refused') redirect(res, check.location);
  else res.status(400).send(pages.untrusted(check.detail));
  return undefined;
}

async function allow(
  { registration, store }: AuthorizationParts,
  account: Account,
  { redirectUri, scopes, rawState, codeChallenge }: AuthorizationRequest,
): Promise<string> {
  const grantId = await store.grants.create({ clientId: registration.clientId, userId: account.id, scopes });
  const challenge = codeChallenge === undefined ? {} : { codeChallenge };
  const code = await store.codes.issue({ grantId, redirectUri, ...challenge });
  return toCallback(redirectUri, { code }, rawState);
}

function denialOf({ redirectUri, rawState }: AuthorizationRequest): string {
  const description = 'The user denied the request.';
  return toCallback(redirectUri, { error: 'access_denied', error_description: description }, rawState);
}

/** Responds with 303, so that the browser follows with GET (RFC 9110 §15.4.4) and never posts the form again. */
function redirect(res: Response, location: string): void {
  // res.location() would re-encode the app's state.
  res.status(303).setHeader('location', location).end();
}
