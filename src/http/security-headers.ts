import type { RequestHandler } from 'express';
import helmet from 'helmet';

const ONE_YEAR_SECONDS = 31_536_000;

/**
 * What an answer that is no page says of https (RFC 6797 §6.1), by name: a browser that calls the API may never see a page
 * of ours. Nothing where a browser reaches us by http. Other hosts under our name are not ours to decide about.
 */
export function toStrictTransport(https: boolean): Readonly<Record<string, string>> {
  return https ? { 'strict-transport-security': `max-age=${ONE_YEAR_SECONDS}` } : {};
}

/**
 * What every page tells the browser: everything comes from us and nothing runs inline (Content Security Policy
 * Level 3), nobody frames us, and nothing is kept (RFC 9111 §5.2.2.5). Whatever may be kept (the assets) says so
 * itself. `https` is whether a browser reaches us by https.
 */
export function createSecurityHeaders(options: { readonly https: boolean }): RequestHandler {
  const headers = helmet({
    contentSecurityPolicy: {
      // The defaults hold upgrade-insecure-requests, which breaks http on a loopback host, and 'unsafe-inline'.
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
    // Not no-referrer: with that, browsers send `Origin: null` on our own forms, and the cross-site check refuses them.
    referrerPolicy: { policy: 'same-origin' },
    // Other hosts under our name are not ours to decide about.
    strictTransportSecurity: options.https && { maxAge: ONE_YEAR_SECONDS, includeSubDomains: false },
    xFrameOptions: { action: 'deny' },
  });
  return (req, res, next) => {
    res.setHeader('cache-control', 'no-store');
    headers(req, res, next);
  };
}
