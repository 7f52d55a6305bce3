import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';
import { AppError } from '../errors.ts';

/** Safe methods (RFC 9110 §9.2.1) accepted for an address that the user types (`Sec-Fetch-Site: none`). */
const NAVIGATING = new Set(['GET', 'HEAD']);
const SAFE = new Set([...NAVIGATING, 'OPTIONS']);

/**
 * Returns whether a request may come from a Cloakroom page, based on Fetch Metadata and `Origin` (docs/api.md). Pages can't change these
 * headers. For an unsafe method, a client that sends neither Fetch Metadata nor `Origin` must set a header that forms on other sites can't
 * set.
 */
export function passesCrossSiteCheck(
  method: string,
  headers: IncomingHttpHeaders,
  publicOrigin: string,
): boolean {
  const { origin, 'sec-fetch-site': fetchSite } = headers;
  if (origin !== undefined && origin !== publicOrigin) return false;
  if (
    fetchSite !== undefined &&
    fetchSite !== 'same-origin' &&
    !(fetchSite === 'none' && NAVIGATING.has(method))
  )
    return false;
  return (
    SAFE.has(method) ||
    origin !== undefined ||
    fetchSite !== undefined ||
    headers['x-requested-with'] !== undefined
  );
}

/**
 * Refuses requests from other sites that embed a page as an image, frame or script (Fetch Metadata, resource isolation policy). The other
 * site can't read the page anyway, but rendering the page sends requests to the service. Links and clients without Fetch Metadata still
 * work.
 */
export const refuseEmbedding: RequestHandler = (req, _res, next) => {
  const site = req.get('sec-fetch-site') ?? 'none';
  const isOurs = site === 'same-origin' || site === 'none';
  const isNavigation = req.get('sec-fetch-mode') === 'navigate' && req.get('sec-fetch-dest') === 'document';
  if (isOurs || isNavigation) next();
  else
    next(
      new AppError('cross_site_request', {
        detail: 'Open this page directly. Other sites can link to this page, but can’t embed it.',
      }),
    );
};
