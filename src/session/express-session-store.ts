import { RedisStore } from 'connect-redis';
import type { Request } from 'express';
import type { SessionData } from 'express-session';
import type { RedisClient } from '../redis/client.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { SessionRecord, Session } from './record.ts';
import type { SessionStore } from './store.ts';
import type { SessionCookie } from './cookie.ts';

declare module 'express-session' {
  interface SessionData {
    /** What a new session begins with, and what an old one was read with. */
    record: SessionRecord;
    /** The value in Redis that `record` was opened from; absent on a session that is only being made. */
    encrypted: string;
  }
}

type Done<T> = (error: unknown, result?: T) => void;

/**
 * connect-redis for encrypted sessions: what it reads and writes goes through SessionStore, which the gateway uses
 * without express-session.
 */
export class RedisSessionStore extends RedisStore {
  /** Given to every store by express-session: a new id and an empty session on the request. */
  declare generate: (req: Request) => void;

  readonly #stored = new WeakSet<SessionData>();
  readonly #records: SessionStore;
  readonly #attributes: SessionCookie['attributes'];
  #by: RequestContext | undefined;

  constructor(redis: RedisClient, prefix: string, records: SessionStore, cookie: SessionCookie) {
    super({ client: redis, prefix: `${prefix}session:` });
    this.#records = records;
    this.#attributes = cookie.attributes;
  }

  /** Express-session does not say for whom it reads a session, but does so before it returns: this runs it. */
  readFor(by: RequestContext, run: () => void): void {
    this.#by = by;
    try {
      run();
    } finally {
      this.#by = undefined;
    }
  }

  override async get(id: string, done: Done<SessionData | null>): Promise<void> {
    const found = this.#records.read(id, this.#by);
    await found.then((ticket) => done(null, ticket && this.#toSessionData(ticket)), done);
  }

  /**
   * Sign-in stores a session; nothing else may. express-session stores a regenerated session a second time when the
   * response ends, and holds that back for it: what is stored is left alone. (And creating leaves what stands, so that
   * it could not undo a renewal or a sign-out in between.)
   */
  override async set(id: string, session: SessionData, done: Done<void> = ignore): Promise<void> {
    if (this.#stored.has(session)) {
      done(null);
      return;
    }
    const stored = this.#records.create(id, session.record).then(() => this.#stored.add(session));
    await stored.then(() => done(null), done);
  }

  override async destroy(id: string, done: Done<void> = ignore): Promise<void> {
    await this.#records.end(id).then(() => done(null), done);
  }

  /** Reading has begun the idle time anew already. Calls back at once, so that no response waits for it. */
  override touch(_id: string, _session: SessionData, done: Done<void> = ignore): Promise<void> {
    done(null);
    return Promise.resolve();
  }

  /** Unlike the inherited one this ends nothing: the old session goes only once the new one is safely stored. */
  override regenerate(req: Request, done: Done<void>): void {
    this.generate(req);
    done(null);
  }

  #toSessionData({ record, encrypted }: Session): SessionData {
    return { cookie: { ...this.#attributes, originalMaxAge: null }, record, encrypted };
  }
}

function ignore(): void {}
