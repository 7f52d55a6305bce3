import type { RequestHandler } from 'express';
import helmet from 'helmet';

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * Returns the HSTS header for responses that are not pages (RFC 6797 §6.1), because a browser that uses the API may never load
 * a page. Returns an empty object over HTTP. Excludes subdomains, which may belong to others.
 */
export function toStrictTransport(https: boolean): Readonly<Record<string, string>> {
  return https ? { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` } : {};
}

/**
 * Creates the middleware that sets the headers of every page. All content comes from this origin, and inline scripts and styles are blocked
 * (Content Security Policy Level 3). Pages can't be framed or cached (RFC 9111 §5.2.2.5). Assets set their own `Cache-Control`. `https`
 * says whether browsers use HTTPS.
 */
export function createSecurityHeaders(options: { readonly https: boolean }): RequestHandler {
  const headers = helmet({
    contentSecurityPolicy: {
      // Helmet's defaults include 'unsafe-inline', as well as upgrade-insecure-requests, which breaks HTTP on a loopback host.
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
    // With no-referrer, Cloakroom's own forms would send `Origin: null`, and the cross-site check would refuse them.
    referrerPolicy: { policy: 'same-origin' },
    strictTransportSecurity: options.https && { maxAge: ONE_YEAR_SECONDS, includeSubDomains: false },
    xFrameOptions: { action: 'deny' },
  });
  return (req, res, next) => {
    res.setHeader('cache-control', 'no-store');
    headers(req, res, next);
  };
}
