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
    /** The record of a new session, or the record that was read from Redis. */
    record: SessionRecord;
    /** The value in Redis that `record` was decrypted from; absent on a new session. */
    encrypted: string;
  }
}

/**
 * Loads the session for page requests through express-session. A request without a session cookie causes no Redis command. Only sign-in
 * writes sessions; pages must not change them.
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

  /** Re-signs the cookie with the first session key, which express-session does only for new sessions. */
  const signAgain: RequestHandler = (req, res, next) => {
    const read = cookie.read(req.headers.cookie);
    if (read?.usesFirstKey === false && currentSession(req)?.id === read.id)
      res.append('Set-Cookie', cookie.write(read.id));
    next();
  };

  return [readSession, signAgain];
}

/** Returns the session of a signed-in user's request, otherwise null. */
export function currentSession(req: Request): Session | null {
  const { record, encrypted } = expressSessionOf(req);
  return record === undefined || encrypted === undefined ? null : { id: req.sessionID, record, encrypted };
}

/**
 * Starts a session under a new id and sets its cookie. If Redis is unavailable, rejects with StoreUnavailableError and changes
 * neither the cookie nor the previous session. On success, the caller must end the previous session.
 */
export async function startSession(req: Request, record: SessionRecord): Promise<void> {
  await settle((done) => expressSessionOf(req).regenerate(done));
  req.session.record = record;
  try {
    await settle((done) => req.session.save(done));
  } catch (error) {
    Reflect.deleteProperty(req, 'session'); // or express-session would set a cookie for a session that was not stored
    throw error;
  }
}

/** Returns the session object that express-session sets. Throws if it is missing, which happens only while Redis is down. */
function expressSessionOf(req: Request): Request['session'] & Partial<SessionData> {
  const { session } = req as { session?: Request['session'] };
  if (session === undefined) throw new StoreUnavailableError(new Error('express-session set no session'));
  return session;
}

function settle(start: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error === null || error === undefined ? resolve() : reject(error)));
  });
}

type Done<T> = (error: unknown, result?: T) => void;

/** A connect-redis store that reads and writes encrypted sessions through the same SessionStore as the gateway. */
class EncryptedRedisStore extends RedisStore {
  /** Gives the request a new session id and an empty session. express-session adds this method to every store. */
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

  /** Runs `read` with the context of its request. express-session can't pass the context on, but calls get() synchronously. */
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
   * Stores a session once, when a sign-in starts it. express-session saves a regenerated session again when the response ends, and delays
   * the response until then. Even a second save couldn't undo a refresh or sign-out, because create() never overwrites.
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

  /** Does nothing, because get() has already restarted the idle timeout. Calls back immediately to avoid delaying the response. */
  override touch(_id: string, _session: SessionData, done: Done<void> = ignore): Promise<void> {
    done(null);
    return Promise.resolve();
  }

  /** Unlike the inherited method, doesn't end the previous session, which must remain until the new session is stored. */
  override regenerate(req: Request, done: Done<void>): void {
    this.generate(req);
    done(null);
  }

  #toSessionData({ record, encrypted }: Session): SessionData {
    return { cookie: { ...this.#attributes, originalMaxAge: null }, record, encrypted };
  }
}

function ignore(): void {}
