import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../errors.ts';

/** Methods that change nothing (RFC 9110 §9.2.1) and that a person sends who types an address. */
const NAVIGATING = new Set(['GET', 'HEAD']);
const SAFE = new Set([...NAVIGATING, 'OPTIONS']);

/**
 * Whether a call may come from a page of ours, by Fetch Metadata and `Origin` (contract, section 4). Both are set by
 * the browser, out of a page's reach; what sends neither must set a header that another site's form can't.
 */
export function isSameOrigin(method: string, headers: IncomingHttpHeaders, publicOrigin: string): boolean {
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

/** The answer to a call that fails isSameOrigin. */
export function crossSiteRequest(): AppError {
  return new AppError('cross_site_request', {
    detail:
      'Only pages of this site may make it. A client without a browser sends an X-Requested-With header.',
  });
}
