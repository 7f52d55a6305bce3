import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';
import { AppError } from '../errors.ts';

/** Methods that change nothing (RFC 9110 §9.2.1) and that a browser sends for a typed address. */
const NAVIGATING = new Set(['GET', 'HEAD']);
const SAFE = new Set([...NAVIGATING, 'OPTIONS']);

/**
 * Whether a request may come from one of our pages, by Fetch Metadata and `Origin` (docs/api.md). The browser sets both, and no
 * page can change them. A client that sends neither must set a header that another site's form cannot set.
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
 * Refuses a page to another site that embeds it as a picture, a frame or a script (Fetch Metadata, resource isolation policy).
 * That site could read nothing, but each page costs requests to the service. Links from other sites still work, and so do
 * clients that send no Fetch Metadata.
 */
export const refuseEmbedding: RequestHandler = (req, _res, next) => {
  const site = req.get('sec-fetch-site') ?? 'none';
  const isOurs = site === 'same-origin' || site === 'none';
  const isNavigation = req.get('sec-fetch-mode') === 'navigate' && req.get('sec-fetch-dest') === 'document';
  if (isOurs || isNavigation) next();
  else
    next(
      new AppError('cross_site_request', {
        detail: 'Open this page itself. Another site may link to it, but not embed it.',
      }),
    );
};
