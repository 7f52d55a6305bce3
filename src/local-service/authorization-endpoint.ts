import { Router } from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { findAccount } from './accounts.ts';
import type { Account } from './accounts.ts';
import { refuseMethod } from './error-responses.ts';
import type { AuthorizationCodes } from './authorization-codes.ts';
import { judgeAuthorizationRequest, toCallback } from './authorization-request.ts';
import type { AuthorizationRequest, Registration } from './authorization-request.ts';
import type { Browser, BrowserSignIn } from './browser-sign-in.ts';
import { readFormBody, toFormFields } from './form-body.ts';
import { repeatedName } from './request-parameters.ts';
import { isFormTokenOf, toFormToken } from './form-token.ts';
import type { Grants } from './grants.ts';
import type { Pages } from './pages.ts';
import { rawQuery } from './request-query.ts';
import { AUTHORIZATION_PATH } from './service-paths.ts';

/** What the authorization endpoint works with. */
export interface AuthorizationParts {
  readonly registration: Registration;
  readonly grants: Grants;
  readonly codes: AuthorizationCodes;
  readonly signIn: BrowserSignIn;
  readonly pages: Pages;
}

/**
 * `GET …/oauth2/` (RFC 6749 §3.1, interface 4.1): the sign-in page, then the consent page. Their forms post to the
 * very same address, so that every step judges the whole request anew and nothing in between has to be kept, or
 * trusted. Only with its trailing slash; `errors` answers what fails with a page.
 */
export function authorizationEndpoint(parts: AuthorizationParts, errors: ErrorRequestHandler): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.get(AUTHORIZATION_PATH, showForm(parts));
  router.post(AUTHORIZATION_PATH, readFormBody(), takeForm(parts));
  router.all(AUTHORIZATION_PATH, refuseMethod('GET, HEAD, POST'));
  router.use(errors);
  return router;
}

function showForm(parts: AuthorizationParts): RequestHandler {
  return async (req, res) => {
    const request = acceptRequest(parts, req, res);
    if (request === undefined) return;
    const browser = await parts.signIn.recognise(req);
    if (browser.secret === undefined || browser.account === undefined) {
      const secret = browser.secret ?? parts.signIn.meet(res);
      res.send(parts.pages.signIn(hereOf(req), toFormToken(secret, rawQuery(req))));
      return;
    }
    const formToken = toFormToken(browser.secret, rawQuery(req));
    res.send(parts.pages.consent(hereOf(req), formToken, browser.account, request));
  };
}

function takeForm(parts: AuthorizationParts): RequestHandler {
  return async (req, res) => {
    const request = acceptRequest(parts, req, res);
    if (request === undefined) return;
    const here = hereOf(req);
    const browser = await parts.signIn.recognise(req);
    const form = toFormFields(req.body) ?? new URLSearchParams();
    const formToken = form.get('form_token') ?? '';
    const step = repeatedName(form) === undefined ? (form.get('step') ?? '') : '';
    if (!isFormTokenOf(formToken, browser.secret, rawQuery(req))) {
      // Another tab has signed in since this one showed its form: that is what was wanted.
      if (step === 'sign-in' && browser.account !== undefined) redirect(res, here);
      else res.status(403).send(parts.pages.staleForm(here));
      return;
    }

    switch (step) {
      case 'sign-in':
        if (await signIn(parts, res, browser, form)) redirect(res, here);
        else res.status(401).send(parts.pages.signIn(here, formToken, form.get('username') ?? ''));
        return;
      case 'switch':
        await parts.signIn.signOut(res, browser);
        redirect(res, here);
        return;
      case 'allow':
        // Where the sign-in has lapsed since, the same address asks for it again.
        redirect(res, browser.account === undefined ? here : await allow(parts, browser.account, request));
        return;
      case 'deny':
        redirect(res, toDenial(request));
        return;
      default:
        res.status(400).send(parts.pages.noChoice(here));
    }
  };
}

/** The address that every form of this request is posted to, and that shows the next one. */
function hereOf(req: Request): string {
  return `${AUTHORIZATION_PATH}?${rawQuery(req)}`;
}

/** The request where it is in order; undefined where it isn't, and then the answer has been given. */
function acceptRequest(
  { registration, pages }: AuthorizationParts,
  req: Request,
  res: Response,
): AuthorizationRequest | undefined {
  const verdict = judgeAuthorizationRequest(rawQuery(req), registration);
  if (verdict.kind === 'accepted') return verdict.request;
  if (verdict.kind === 'refused') redirect(res, verdict.location);
  else res.status(400).send(pages.untrusted(verdict.detail));
  return undefined;
}

async function signIn(
  parts: AuthorizationParts,
  res: Response,
  browser: Browser,
  form: URLSearchParams,
): Promise<boolean> {
  const account = findAccount((form.get('username') ?? '').trim(), form.get('password') ?? '');
  if (account === undefined) return false;
  await parts.signIn.signIn(res, browser, account);
  return true;
}

async function allow(
  { registration, grants, codes }: AuthorizationParts,
  account: Account,
  { redirectUri, scopes, rawState, codeChallenge }: AuthorizationRequest,
): Promise<string> {
  const grantId = await grants.create({ clientId: registration.clientId, userId: account.id, scopes });
  const challenge = codeChallenge === undefined ? {} : { codeChallenge };
  const code = await codes.issue({ grantId, redirectUri, ...challenge });
  return toCallback(redirectUri, { code }, rawState);
}

function toDenial({ redirectUri, rawState }: AuthorizationRequest): string {
  const description = 'The user did not allow the app.';
  return toCallback(redirectUri, { error: 'access_denied', error_description: description }, rawState);
}

/** 303 always: what follows a form must be fetched with GET (RFC 9110 §15.4.4), never posted on. */
function redirect(res: Response, location: string): void {
  // Not res.location(): it would encode anew what the app's state is made of.
  res.status(303).setHeader('location', location).end();
}
