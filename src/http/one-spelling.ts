import type { RequestHandler } from 'express';
import { pageNotFound } from './error-pages.ts';

/** Pages whose address a person may type, with a slash too many. */
const OPENED = /^\/(?:console|workspaces)/;

/**
 * Lets only those addresses through that `toRoute` knows, as they are written: for all others there is no page. Express by itself
 * also takes a slash at the end, a fragment, and a target in absolute form; whoever stands in front and has a rule for
 * `/auth/login` or `/readyz` would be passed by (docs/decisions/0039). A page with a slash at its end leads to the one without.
 */
export function createOneSpelling(toRoute: (target: string) => string): RequestHandler {
  return (req, res, next) => {
    if (toRoute(req.url) !== 'none') {
      next();
      return;
    }
    const plain = req.url.replace(/\/(?=\?|$)/, '');
    const isRead = req.method === 'GET' || req.method === 'HEAD';
    if (isRead && OPENED.test(toRoute(plain))) res.redirect(308, req.baseUrl + plain);
    else pageNotFound(req, res, next);
  };
}
