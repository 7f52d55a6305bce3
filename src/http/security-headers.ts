import type { RequestHandler } from 'express';
import helmet from 'helmet';

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * HSTS for responses that are not pages (RFC 6797 §6.1). A browser that uses the API may never load a page. Empty where
 * browsers use http. Excludes subdomains, which may belong to others.
 */
export function toStrictTransport(https: boolean): Readonly<Record<string, string>> {
  return https ? { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` } : {};
}

/**
 * Headers of every page. All content comes from this origin and nothing runs inline (Content Security Policy Level 3). No site
 * frames the page, and no cache stores it (RFC 9111 §5.2.2.5). Assets replace `Cache-Control`. `https`: whether browsers use
 * https.
 */
export function createSecurityHeaders(options: { readonly https: boolean }): RequestHandler {
  const headers = helmet({
    contentSecurityPolicy: {
      // The defaults include upgrade-insecure-requests, which breaks http on a loopback host, and 'unsafe-inline'.
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'style-src': ["'self'"],
        'script-src': ["'self'"],
        'img-src': ["'self'"],
        'connect-src': ["'self'"],
        'form-action': ["'self'"],
        'base-uri': ["'none'"],
        'frame-ancestors': ["'none'"],
      },
    },
    crossOriginOpenerPolicy: { policy: 'same-origin' },
    // With no-referrer, browsers would send `Origin: null` from our own forms, and the cross-site check would refuse them.
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: options.https && { maxAge: ONE_YEAR_SECONDS, includeSubDomains: false },
    xFrameOptions: { action: 'deny' },
  });
  return (req, res, next) => {
    res.setHeader('cache-control', 'no-store');
    headers(req, res, next);
  };
}
