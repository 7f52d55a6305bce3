import { randomBytes } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import session from 'express-session';
import type { SessionData } from 'express-session';
import { derive } from '../config/reloadable.ts';
import { StoreUnavailableError } from '../errors.ts';
import type { RedisClient } from '../redis/client.ts';
import { requestContext } from '../http/request-context.ts';
import type { SessionRecord, Session } from './record.ts';
import { RedisSessionStore } from './express-session-store.ts';
import type { SessionStore } from './store.ts';
import type { SessionCookie } from './cookie.ts';

/**
 * Reads the session of a page's request: express-session over encrypted store. A request without our cookie costs
 * nothing. It writes only when sign-in has made a session: no page may change one.
 */
export function createSessions(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly store: SessionStore;
  readonly cookie: SessionCookie;
}): RequestHandler[] {
  const { cookie } = deps;
  const withSecrets = derive(cookie.secrets, (secret): RequestHandler => {
    const store = new RedisSessionStore(deps.redis, deps.prefix, deps.store, cookie);
    const read = session({
      name: cookie.name,
      secret,
      cookie: cookie.attributes,
      store,
      genid: () => randomBytes(32).toString('base64url'),
      resave: false,
      saveUninitialized: false,
    });
    return (req, res, next) => store.readFor(requestContext(res), () => read(req, res, next));
  });
  const readSession: RequestHandler = (req, res, next) => void withSecrets.current(req, res, next);

  /** express-session verifies with every key but signs again only a new session. */
  const signAgain: RequestHandler = (req, res, next) => {
    const read = cookie.read(req.headers.cookie);
    if (read?.current === false && currentSession(req)?.id === read.id)
      res.append('Set-Cookie', cookie.write(read.id));
    next();
  };

  return [readSession, signAgain];
}

/** The session that the request came with; null where it has none. */
export function currentSession(req: Request): Session | null {
  const { record, encrypted } = sessionOf(req);
  return record === undefined || encrypted === undefined ? null : { id: req.sessionID, record, encrypted };
}

/**
 * Begins a session under a new id and sets its cookie. Rejects with StoreUnavailableError, and then the old session
 * goes on and no cookie is set. Ending the old one, after this, is the caller's.
 */
export async function startSession(req: Request, record: SessionRecord): Promise<void> {
  await settle((done) => sessionOf(req).regenerate(done));
  req.session.record = record;
  try {
    await settle((done) => req.session.save(done));
  } catch (error) {
    Reflect.deleteProperty(req, 'session'); // or express-session sets the cookie of a session that is not stored
    throw error;
  }
}

/** express-session leaves a request without a session when its store says `disconnect`: an outage, not a sign-out. */
function sessionOf(req: Request): Request['session'] & Partial<SessionData> {
  const { session: found } = req as { session?: Request['session'] };
  if (found === undefined) throw new StoreUnavailableError(new Error('express-session gave no session'));
  return found;
}

function settle(start: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}
