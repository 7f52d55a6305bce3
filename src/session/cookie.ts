import { hkdfSync } from 'node:crypto';
import { parse, serialize } from 'cookie';
import type { SerializeOptions } from 'cookie';
import { sign, unsign } from 'cookie-signature';
import { LRUCache } from 'lru-cache';
import { derive, type Reloadable } from '../config/reloadable.ts';

/** A session cookie that we have signed. */
export interface ReadCookie {
  readonly id: string;
  /** Whether the first session key signed it. */
  readonly current: boolean;
}

/** Reads and writes the session cookie: an id signed with a session key. */
export interface SessionCookie {
  readonly name: string;
  /** Its attributes, for express-session. */
  readonly attributes: { path: string; httpOnly: boolean; secure: boolean; sameSite: 'lax' | 'strict' };
  /** Signing secrets, the first signs and all verify, for express-session. */
  readonly secrets: Reloadable<string[]>;
  /**
   * The id in a `Cookie` header, where it is signed by us; null otherwise.
   */
  read(header: string | undefined): ReadCookie | null;
  /** The `Set-Cookie` value for an id. */
  write(id: string): string;
  /** The `Set-Cookie` value that removes it. */
  clear(): string;
}

/**
 * To verify a signature costs a tenth of a proxied call. A browser sends the same header for as long as it has the
 * same cookies, and what was true of its bytes stays true until the session keys change.
 */
const MOST_REMEMBERED = 10_000;
const LONGEST_REMEMBERED = 1_024;

/**
 * The name under https starts with `__Host-Http-`: a browser that knows the prefix takes it only from us, over
 * https, and never from a script (draft-ietf-httpbis-rfc6265bis). Its value is what express-session writes too.
 */
export function createSessionCookie(options: {
  readonly https: boolean;
  readonly sameSite: 'lax' | 'strict';
  readonly sessionKeys: Reloadable<readonly Buffer[]>;
}): SessionCookie {
  const name = options.https ? '__Host-Http-cloakroom' : 'cloakroom';
  const attributes = { path: '/', httpOnly: true, secure: options.https, sameSite: options.sameSite };
  const secrets = derive(options.sessionKeys, (keys) => keys.map(signingSecret));
  const headers = derive(secrets, () => new LRUCache<string, ReadCookie>({ max: MOST_REMEMBERED }));

  const readAnew = (header: string): ReadCookie | null => {
    const value = parse(header)[name];
    if (value === undefined || !value.startsWith('s:')) return null;
    for (const [at, secret] of secrets.current.entries()) {
      const id = unsign(value.slice(2), secret);
      if (id !== false) return { id, current: at === 0 };
    }
    return null;
  };

  return {
    name,
    attributes,
    secrets,
    read(header) {
      if (header === undefined) return null;
      const remembered = headers.current;
      const known = remembered.get(header);
      if (known !== undefined) return known;
      const read = readAnew(header);
      // Only what we have signed: others may send what they like.
      if (read !== null && header.length <= LONGEST_REMEMBERED) remembered.set(header, read);
      return read;
    },
    write(id) {
      const [first] = secrets.current;
      if (first === undefined) throw new Error('A cookie needs at least one session key.');
      return serialize(name, `s:${sign(id, first)}`, attributes);
    },
    clear: () => serialize(name, '', { ...attributes, maxAge: 0 } satisfies SerializeOptions),
  };
}

/** Signing and sealing never share a key. */
function signingSecret(sessionKey: Buffer): string {
  return Buffer.from(hkdfSync('sha256', sessionKey, '', 'cloakroom cookie signature', 32)).toString(
    'base64url',
  );
}
