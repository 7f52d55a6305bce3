import type { RequestHandler } from 'express';
import { toAppError } from '../platform/errors.ts';
import { sendProblem } from '../platform/problem.ts';
import type { AuthDeps } from './routes.ts';

/**
 * `GET /auth/session`: whether the browser is signed in, and until when (ISO 8601 UTC). Asking does not extend the
 * idle time, so that a page may ask as often as it likes.
 */
export function createSessionStatus({ config, cookie, records }: AuthDeps): RequestHandler {
  return async (req, res) => {
    const read = cookie.read(req.headers.cookie);
    try {
      const found = read === null ? null : await records.peek(read.id);
      if (found === null) {
        res.json({ signedIn: false });
        return;
      }
      if (read?.current === false) res.append('Set-Cookie', cookie.write(read.id));
      const { createdAt, grant } = found.ticket.record;
      res.json({
        signedIn: true,
        expiresAt: new Date(createdAt + config.sessionMaxSeconds * 1_000).toISOString(),
        idleExpiresAt: new Date(found.idleExpiresAt).toISOString(),
        scopes: grant.scopes,
      });
    } catch (error) {
      sendProblem(res, toAppError(error)); // who asks here is a script, whatever its Accept says
    }
  };
}
