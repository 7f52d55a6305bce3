import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createSessionCookie } from '../../../src/session/cookie.ts';

const A = randomBytes(32);
const B = randomBytes(32);

describe('an encrypted record', () => {
  const encryption = createEncryption({ current: [A] });
  const encrypted = encryption.encrypt('tea', 'id', 'key');

  test('is decrypted to the original text', () => {
    expect(encryption.decrypt(encrypted, 'id', 'key')).toEqual({ text: 'tea', usesFirstKey: true });
  });

  test.each([
    ['secret', A, 'another', 'key'],
    ['key name', A, 'id', 'another'],
    ['session key', B, 'id', 'key'],
  ])('cannot be decrypted with another %s', (_what, sessionKey, secret, name) => {
    expect(createEncryption({ current: [sessionKey] }).decrypt(encrypted, secret, name)).toBeNull();
  });

  test('is decrypted with an older session key, and the result shows that the key is old', () => {
    expect(createEncryption({ current: [B, A] }).decrypt(encrypted, 'id', 'key')).toEqual({
      text: 'tea',
      usesFirstKey: false,
    });
  });

  test('with a single changed character is refused', () => {
    // The last base64url character may contain unused bits.
    for (let at = 0; at < encrypted.length - 1; at += 1) {
      const changed = encrypted.slice(0, at) + (encrypted[at] === 'A' ? 'B' : 'A') + encrypted.slice(at + 1);
      expect(encryption.decrypt(changed, 'id', 'key')).toBeNull();
    }
  });

  test('that has been truncated is refused', () => {
    for (let length = 0; length < encrypted.length; length += 1) {
      expect(encryption.decrypt(encrypted.slice(0, length), 'id', 'key')).toBeNull();
    }
  });

  test('is never the same twice', () => {
    expect(encryption.encrypt('tea', 'id', 'key')).not.toBe(encrypted);
  });
});

/** Decrypts AES-256-GCM independently of the code under test. The nonce is the first 12 bytes, and the tag is the last 16. */
function decrypt(encrypted: string, key: Buffer, name: string): string {
  const bytes = Buffer.from(encrypted.split('.')[2] ?? '', 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
  decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-16));
  return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
}

test('neither the cookie signing key nor a key derived from it can decrypt a record, even with the same salt', () => {
  const sessionKeys = { current: [A] };
  const encrypted = createEncryption(sessionKeys).encrypt('tea', '', 'key');
  const encryptionKey = Buffer.from(hkdfSync('sha256', A, '', 'cloakroom sealing', 32));
  expect(decrypt(encrypted, encryptionKey, 'key')).toBe('tea');

  const { secrets } = createSessionCookie({ https: true, sameSite: 'lax', sessionKeys });
  const [signingKey = Buffer.alloc(0)] = secrets.current.map((secret) => Buffer.from(secret, 'base64url'));
  expect(signingKey).toHaveLength(32);
  const derived = Buffer.from(hkdfSync('sha256', signingKey, '', 'cloakroom sealing', 32));
  for (const key of [signingKey, derived])
    expect(() => decrypt(encrypted, key, 'key')).toThrow('unable to authenticate');
});
