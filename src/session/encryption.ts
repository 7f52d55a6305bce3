import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { derive, type Reloadable } from '../config/reloadable.ts';

const VERSION = '1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export type Encryption = ReturnType<typeof createEncryption>;

/**
 * Encrypts text with AES-256-GCM (NIST SP 800-38D), under a key that HKDF-SHA-256 (RFC 5869) derives from a session key and a secret.
 * `secret` is a value that Redis doesn't store, such as the id in the session cookie. `name` is the Redis key, so that a value copied to
 * another key can't be decrypted.
 *
 * An encrypted value has the form `version.key-name.base64url(nonce | ciphertext | tag)`. The key name identifies the session key, so
 * decryption never has to try several keys.
 */
export function createEncryption(sessionKeys: Reloadable<readonly Buffer[]>) {
  const keyring = derive(sessionKeys, toKeyring);

  return {
    /** The current keys, as a new object after each change. A cache of decrypted values must be cleared when this object is replaced. */
    keyring: keyring as Reloadable<unknown>,
    encrypt(text: string, secret: string, name: string): string {
      const { first } = keyring.current;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', encryptionKey(first.key, secret), nonce);
      cipher.setAAD(Buffer.from(name));
      const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${VERSION}.${first.name}.${Buffer.concat(parts).toString('base64url')}`;
    },
    /**
     * Decrypts a value. Returns null if the value was moved, truncated or altered, or if its session key is unknown.
     * `usesFirstKey` says whether the value was encrypted under the first session key.
     */
    decrypt(
      encrypted: string,
      secret: string,
      name: string,
    ): { readonly text: string; readonly usesFirstKey: boolean } | null {
      const [version, usedKey, body = '', ...more] = encrypted.split('.');
      const { first, all } = keyring.current;
      const known = all.find((candidate) => candidate.name === usedKey);
      if (version !== VERSION || known === undefined || more.length > 0) return null;
      const text = decipher(Buffer.from(body, 'base64url'), encryptionKey(known.key, secret), name);
      return text === null ? null : { text, usesFirstKey: known === first };
    },
  };
}

function toKeyring(sessionKeys: readonly Buffer[]) {
  const all = sessionKeys.map((key) => ({ key, name: keyName(key) }));
  const [first] = all;
  if (first === undefined) throw new Error('Encryption needs at least one session key.');
  return { first, all };
}

function decipher(bytes: Buffer, key: Buffer, name: string): string | null {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipherer = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipherer.setAAD(Buffer.from(name));
  decipherer.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipherer.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8');
    return text + decipherer.final('utf8');
  } catch {
    return null; // the tag does not match
  }
}

/** Derives the key for one value (RFC 5869). Changing the info string would end all sessions at the next upgrade. */
function encryptionKey(sessionKey: Buffer, secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', sessionKey, secret, 'cloakroom sealing', 32));
}

/** Returns a name for a session key that reveals nothing about the key. Values in Redis contain the name. */
function keyName(sessionKey: Buffer): string {
  return createHash('sha256')
    .update('cloakroom key name')
    .update(sessionKey)
    .digest()
    .toString('base64url', 0, 6);
}
