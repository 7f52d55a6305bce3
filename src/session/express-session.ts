import { randomBytes } from 'node:crypto';
import { RedisStore } from 'connect-redis';
import type { Request, RequestHandler } from 'express';
import expressSession, { type SessionData } from 'express-session';
import { derive } from '../config/reloadable.ts';
import { requestContext, type RequestContext } from '../http/request-context.ts';
import { StoreUnavailableError, type RedisClient } from '../redis/client.ts';
import type { SessionCookie } from './cookie.ts';
import type { Session, SessionRecord } from './record.ts';
import type { SessionStore } from './store.ts';

declare module 'express-session' {
  interface SessionData {
    /** The record of a new session, or of one that was read. */
    record: SessionRecord;
    /** The value in Redis that `record` was decrypted from; absent on a new session. */
    encrypted: string;
  }
}

/**
 * Reads the session of a page's request with express-session. A request without a session cookie costs nothing. Only sign-in
 * writes a session, and no page may change one.
 */
export function createSessionMiddleware(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly store: SessionStore;
  readonly cookie: SessionCookie;
}): RequestHandler[] {
  const { cookie } = deps;
  const withSecrets = derive(cookie.secrets, (secret): RequestHandler => {
    const store = new EncryptedRedisStore(deps.redis, deps.prefix, deps.store, cookie);
    const read = expressSession({
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

  /** Signs the cookie with the first session key, which express-session does for a new session only. */
  const signAgain: RequestHandler = (req, res, next) => {
    const read = cookie.read(req.headers.cookie);
    if (read?.usesFirstKey === false && currentSession(req)?.id === read.id)
      res.append('Set-Cookie', cookie.write(read.id));
    next();
  };

  return [readSession, signAgain];
}

/** The session of a request; null where it has none. */
export function currentSession(req: Request): Session | null {
  const { record, encrypted } = expressSessionOf(req);
  return record === undefined || encrypted === undefined ? null : { id: req.sessionID, record, encrypted };
}

/**
 * Starts a session under a new id and sets its cookie. Rejects with StoreUnavailableError, and then sets no cookie and keeps the
 * previous session. The caller ends the previous session afterwards.
 */
export async function startSession(req: Request, record: SessionRecord): Promise<void> {
  await settle((done) => expressSessionOf(req).regenerate(done));
  req.session.record = record;
  try {
    await settle((done) => req.session.save(done));
  } catch (error) {
    Reflect.deleteProperty(req, 'session'); // or express-session would set the cookie of a session that is not stored
    throw error;
  }
}

/**
 * Returns express-session's session. Throws if there is none: its store has emitted `disconnect`, which means an outage, not a
 * sign-out.
 */
function expressSessionOf(req: Request): Request['session'] & Partial<SessionData> {
  const { session } = req as { session?: Request['session'] };
  if (session === undefined) throw new StoreUnavailableError(new Error('express-session gave no session'));
  return session;
}

function settle(start: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}

type Done<T> = (error: unknown, result?: T) => void;

/** connect-redis that reads and writes encrypted sessions, through the same SessionStore as the gateway. */
class EncryptedRedisStore extends RedisStore {
  /** express-session gives every store this method. It puts a new id and an empty session on the request. */
  declare generate: (req: Request) => void;

  readonly #saved = new WeakSet<SessionData>();
  readonly #store: SessionStore;
  readonly #attributes: SessionCookie['attributes'];
  #context: RequestContext | undefined;

  constructor(redis: RedisClient, prefix: string, store: SessionStore, cookie: SessionCookie) {
    super({ client: redis, prefix: `${prefix}session:` });
    this.#store = store;
    this.#attributes = cookie.attributes;
  }

  /** Runs `read` with the context of its request. express-session passes none on, but it calls get() before it returns. */
  readFor(context: RequestContext, read: () => void): void {
    this.#context = context;
    try {
      read();
    } finally {
      this.#context = undefined;
    }
  }

  override async get(id: string, done: Done<SessionData | null>): Promise<void> {
    const found = this.#store.read(id, this.#context);
    await found.then((session) => done(null, session && this.#toSessionData(session)), done);
  }

  /**
   * Stores the new session of a sign-in, once. express-session saves a regenerated session again when the response ends, and
   * delays the response for that. A second save could not undo a refresh or a sign-out in between, because create() replaces
   * nothing.
   */
  override async set(id: string, session: SessionData, done: Done<void> = ignore): Promise<void> {
    if (this.#saved.has(session)) {
      done(null);
      return;
    }
    const saved = this.#store.create(id, session.record).then(() => this.#saved.add(session));
    await saved.then(() => done(null), done);
  }

  override async destroy(id: string, done: Done<void> = ignore): Promise<void> {
    await this.#store.end(id).then(() => done(null), done);
  }

  /** Does nothing, because get() has restarted the idle time. It calls back at once, so that no response waits. */
  override touch(_id: string, _session: SessionData, done: Done<void> = ignore): Promise<void> {
    done(null);
    return Promise.resolve();
  }

  /** Unlike the inherited method this ends no session. The previous one ends once the new one is stored. */
  override regenerate(req: Request, done: Done<void>): void {
    this.generate(req);
    done(null);
  }

  #toSessionData({ record, encrypted }: Session): SessionData {
    return { cookie: { ...this.#attributes, originalMaxAge: null }, record, encrypted };
  }
}

function ignore(): void {}
