import type { RequestHandler } from 'express';
import helmet from 'helmet';
import type { Logger } from '../observability/logger.ts';
import { createAccessLog } from '../http/access-log.ts';
import { ServiceError } from './service-errors.ts';

/** What every request goes through first, whatever it asks for. */
export function everyRequest(log: Logger): RequestHandler[] {
  return [logAndNeverStore(log), securityHeaders(), refuseFragment()];
}

function logAndNeverStore(log: Logger): RequestHandler {
  const accessLog = createAccessLog({ log });
  return (req, res, next) => {
    accessLog.track(req, res, req.originalUrl);
    res.set('cache-control', 'no-store');
    next();
  };
}

/** No script, no frame, nothing from elsewhere. */
function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      // No form-action: Chromium applies it to the redirect after a form as well, which leads to the app.
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    xFrameOptions: { action: 'deny' },
    // It is served over http, on the developer's own machine.
    strictTransportSecurity: false,
  });
}

/** A target has no fragment (RFC 9112 §3.2); Express would take what stands before it. */
function refuseFragment(): RequestHandler {
  return (req, _res, next) => {
    if (req.originalUrl.includes('#'))
      throw new ServiceError(400, 'REQUEST_INVALID', 'The path has a fragment');
    next();
  };
}

/** For answers without a validator: Express would take `*` for that of every one (RFC 9110 §13.1.2). */
export function ignoreValidators(): RequestHandler {
  return (req, _res, next) => {
    delete req.headers['if-none-match'];
    next();
  };
}
