import { hkdfSync } from 'node:crypto';
import { parse, serialize, type SerializeOptions } from 'cookie';
import { sign, unsign } from 'cookie-signature';
import { createBoundedCache } from '../bounded-cache.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';

/** A session cookie with a valid signature. */
export interface VerifiedCookie {
  readonly id: string;
  /** Whether the cookie is signed with the first session key. */
  readonly usesFirstKey: boolean;
}

export type SessionCookie = ReturnType<typeof createSessionCookie>;

/** Maximum number of cached headers. Verifying a cookie signature takes a tenth of the CPU time of a proxied request. */
const MAX_CACHED_HEADERS = 10_000;
const MAX_CACHED_LENGTH = 1_024;

/**
 * Reads and writes the session cookie: a session id, signed in the format of express-session. Over HTTPS, the cookie name
 * starts with `__Host-Http-`. A browser that knows this prefix accepts the cookie only from this host, over HTTPS, and never
 * from a script (draft-ietf-httpbis-rfc6265bis).
 */
export function createSessionCookie(options: {
  readonly https: boolean;
  readonly sameSite: 'lax' | 'strict';
  readonly sessionKeys: Reloadable<readonly Buffer[]>;
}) {
  const name = options.https ? '__Host-Http-cloakroom' : 'cloakroom';
  const attributes = { path: '/', httpOnly: true, secure: options.https, sameSite: options.sameSite };
  const secrets = derive(options.sessionKeys, (keys) => keys.map(signingSecret));
  const cache = derive(secrets, () => createBoundedCache<VerifiedCookie>(MAX_CACHED_HEADERS));

  const verify = (header: string): VerifiedCookie | null => {
    const value = parse(header)[name];
    if (value === undefined || !value.startsWith('s:')) return null;
    for (const [at, secret] of secrets.current.entries()) {
      const id = unsign(value.slice(2), secret);
      if (id !== false) return { id, usesFirstKey: at === 0 };
    }
    return null;
  };

  return {
    name,
    /** The attributes of the cookie, for express-session. */
    attributes,
    /** The signing secrets, for express-session: the first signs new cookies, and each of them can verify a cookie. */
    secrets,
    /** Reads the session cookie from a `Cookie` header; returns null if the header has none with a valid signature. */
    read(header: string | undefined): VerifiedCookie | null {
      if (header === undefined) return null;
      const cached = cache.current.get(header);
      if (cached !== undefined) return cached;
      const read = verify(header);
      // Cache only validly signed cookies, because any client can send unsigned cookies.
      if (read !== null && header.length <= MAX_CACHED_LENGTH) cache.current.set(header, read);
      return read;
    },
    /** Returns the `Set-Cookie` value for a session id. */
    write(id: string): string {
      const [first] = secrets.current;
      if (first === undefined) throw new Error('A cookie needs at least one session key.');
      return serialize(name, `s:${sign(id, first)}`, attributes);
    },
    /** Returns the `Set-Cookie` value that deletes the cookie. */
    clear: (): string => serialize(name, '', { ...attributes, maxAge: 0 } satisfies SerializeOptions),
  };
}

/**
 * Derives the cookie-signing key with HKDF (RFC 5869), so that it differs from all encryption keys. Changing the info string would sign
 * all users out.
 */
function signingSecret(sessionKey: Buffer): string {
  return Buffer.from(hkdfSync('sha256', sessionKey, '', 'cloakroom cookie signature', 32)).toString(
    'base64url',
  );
}
