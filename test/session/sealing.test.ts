import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createSealer } from '../../src/session/sealing.ts';

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
