import { hkdfSync } from 'node:crypto';
import { parse, serialize } from 'cookie';
import type { SerializeOptions } from 'cookie';
import { sign, unsign } from 'cookie-signature';

/** Reads and writes the session cookie: an id signed with a session key. */
export interface TicketCookie {
  readonly name: string;
  /** Its attributes, for express-session. */
  readonly attributes: { path: string; httpOnly: boolean; secure: boolean; sameSite: 'lax' | 'strict' };
  /** Signing secrets, the first signs and all verify, for express-session. */
  readonly secrets: string[];
  /**
   * The id in a `Cookie` header, where it is signed by us; null otherwise. `current` tells whether the first
   * session key signed it.
   */
  read(header: string | undefined): { readonly id: string; readonly current: boolean } | null;
  /** The `Set-Cookie` value for an id. */
  write(id: string): string;
  /** The `Set-Cookie` value that removes it. */
  clear(): string;
}

/**
 * The name under https starts with `__Host-Http-`: a browser that knows the prefix takes it only from us, over
 * https, and never from a script (draft-ietf-httpbis-rfc6265bis). Its value is what express-session writes too.
 */
export function createTicketCookie(options: {
  readonly https: boolean;
  readonly sameSite: 'lax' | 'strict';
  readonly sessionKeys: readonly Buffer[];
}): TicketCookie {
  const name = options.https ? '__Host-Http-cloakroom' : 'cloakroom';
  const attributes = { path: '/', httpOnly: true, secure: options.https, sameSite: options.sameSite };
  const secrets = options.sessionKeys.map(signingSecret);
  const [first] = secrets;
  if (first === undefined) throw new Error('A cookie needs at least one session key.');

  return {
    name,
    attributes,
    secrets,
    read(header) {
      const value = header === undefined ? undefined : parse(header)[name];
      if (value === undefined || !value.startsWith('s:')) return null;
      for (const secret of secrets) {
        const id = unsign(value.slice(2), secret);
        if (id !== false) return { id, current: secret === first };
      }
      return null;
    },
    write: (id) => serialize(name, `s:${sign(id, first)}`, attributes),
    clear: () => serialize(name, '', { ...attributes, maxAge: 0 } satisfies SerializeOptions),
  };
}

/** Signing and sealing never share a key. */
function signingSecret(sessionKey: Buffer): string {
  return Buffer.from(hkdfSync('sha256', sessionKey, '', 'cloakroom cookie signature', 32)).toString(
    'base64url',
  );
}
