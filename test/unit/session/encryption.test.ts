import { createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createSealer } from '../../../src/session/encryption.ts';
import { createTicketCookie } from '../../../src/session/cookie.ts';

const A = randomBytes(32);
const B = randomBytes(32);

describe('sealing', () => {
  test('opens what it has sealed', () => {
    const sealer = createSealer({ current: [A] });
    expect(sealer.open(sealer.seal('tea', 'id', 'key'), 'id', 'key')).toEqual({ text: 'tea', current: true });
  });

  test('opens only with the same secret', () => {
    const sealer = createSealer({ current: [A] });
    expect(sealer.open(sealer.seal('tea', 'id', 'key'), 'another', 'key')).toBeNull();
  });

  test('opens only under the same name', () => {
    const sealer = createSealer({ current: [A] });
    expect(sealer.open(sealer.seal('tea', 'id', 'key'), 'id', 'another')).toBeNull();
  });

  test('opens only with a key that sealed it', () => {
    expect(
      createSealer({ current: [B] }).open(
        createSealer({ current: [A] }).seal('tea', 'id', 'key'),
        'id',
        'key',
      ),
    ).toBeNull();
  });

  test('opens with an older key, and says that it is not the current one', () => {
    const sealed = createSealer({ current: [A] }).seal('tea', 'id', 'key');
    expect(createSealer({ current: [B, A] }).open(sealed, 'id', 'key')).toEqual({
      text: 'tea',
      current: false,
    });
  });

  test('opens nothing that was changed in a single place', () => {
    const sealer = createSealer({ current: [A] });
    const sealed = sealer.seal('tea', 'id', 'key');
    for (let at = 0; at < sealed.length; at += 1) {
      // The last character of base64url may carry bits that stand for nothing.
      if (at === sealed.length - 1) continue;
      const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
      expect(sealer.open(changed, 'id', 'key')).toBeNull();
    }
  });

  test('opens nothing that was cut', () => {
    const sealer = createSealer({ current: [A] });
    const sealed = sealer.seal('tea', 'id', 'key');
    for (let length = 0; length < sealed.length; length += 1) {
      expect(sealer.open(sealed.slice(0, length), 'id', 'key')).toBeNull();
    }
  });

  test('never gives the same value twice', () => {
    const sealer = createSealer({ current: [A] });
    expect(sealer.seal('tea', 'id', 'key')).not.toBe(sealer.seal('tea', 'id', 'key'));
  });
});

/** Decrypts as any reader of the format would: AES-256-GCM, the nonce of 12 bytes first, the tag of 16 last. */
function decrypt(sealed: string, key: Buffer, name: string): string {
  const bytes = Buffer.from(sealed.split('.')[2] ?? '', 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
  decipher.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-16));
  return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
}

test('the key that signs cookies decrypts no record, nor does a key derived from it, even where all salts are the same', () => {
  const sessionKeys = { current: [A] };
  const sealed = createSealer(sessionKeys).seal('tea', '', 'key');
  const encryptionKey = Buffer.from(hkdfSync('sha256', A, '', 'cloakroom sealing', 32));
  expect(decrypt(sealed, encryptionKey, 'key')).toBe('tea');

  const { secrets } = createTicketCookie({ https: true, sameSite: 'lax', sessionKeys });
  const [signingKey = Buffer.alloc(0)] = secrets.current.map((secret) => Buffer.from(secret, 'base64url'));
  expect(signingKey).toHaveLength(32);
  const derived = Buffer.from(hkdfSync('sha256', signingKey, '', 'cloakroom sealing', 32));
  for (const key of [signingKey, derived])
    expect(() => decrypt(sealed, key, 'key')).toThrow('unable to authenticate');
});
