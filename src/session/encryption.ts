import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { derive, type Reloadable } from '../config/reloadable.ts';

/** Seals text so that it opens only with a session key, the secret and the name it was encrypted with. */
export interface Encryption {
  /**
   * `secret` is what only the rightful reader holds, e.g. the id in the cookie; `name` is where the value is kept,
   * so that it opens nowhere else.
   */
  encrypt(text: string, secret: string, name: string): string;
  /**
   * Null where the value was moved, cut, changed or encrypted under a session key that is no longer known.
   * `current` tells whether it was encrypted under the first session key.
   */
  open(
    encrypted: string,
    secret: string,
    name: string,
  ): { readonly text: string; readonly current: boolean } | null;
  /** Another one after a change of session keys: what was opened before may no longer open. */
  readonly keyring: Reloadable<unknown>;
}

const VERSION = '1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM (NIST SP 800-38D) under HKDF-SHA-256 (RFC 5869) of a session key, salted with the secret. An encrypted
 * value reads `version.key-name.base64url(nonce | ciphertext | tag)`: it names its session key, so that opening one
 * after a change of keys needs no trial.
 */
export function createEncryption(sessionKeys: Reloadable<readonly Buffer[]>): Encryption {
  const keyring = derive(sessionKeys, toKeyring);

  return {
    keyring,
    encrypt(text, secret, name) {
      const { first } = keyring.current;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealingKey(first.key, secret), nonce);
      cipher.setAAD(Buffer.from(name));
      const parts = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
      return `${VERSION}.${first.name}.${Buffer.concat(parts).toString('base64url')}`;
    },
    open(encrypted, secret, name) {
      const [version, keyNamed, body = '', ...more] = encrypted.split('.');
      const { first, all } = keyring.current;
      const known = all.find((candidate) => candidate.name === keyNamed);
      if (version !== VERSION || known === undefined || more.length > 0) return null;
      const text = decipher(Buffer.from(body, 'base64url'), sealingKey(known.key, secret), name);
      return text === null ? null : { text, current: known === first };
    },
  };
}

function toKeyring(sessionKeys: readonly Buffer[]) {
  const all = sessionKeys.map((key) => ({ key, name: keyName(key) }));
  const [first] = all;
  if (first === undefined) throw new Error('A encryption needs at least one session key.');
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

function sealingKey(sessionKey: Buffer, secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', sessionKey, secret, 'cloakroom sealing', 32));
}

/** Names a session key without giving anything of it away. */
function keyName(sessionKey: Buffer): string {
  return createHash('sha256')
    .update('cloakroom key name')
    .update(sessionKey)
    .digest()
    .toString('base64url', 0, 6);
}
