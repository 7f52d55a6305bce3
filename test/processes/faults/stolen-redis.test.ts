import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from '@jest/globals';
import { createEncryption } from '../../../src/session/encryption.ts';
import { sessionKey } from '../../../src/session/store.ts';
import { SESSION_KEY } from '../../support/constants.ts';
import { send, signOut } from '../../support/fleet/requests.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';

const PAGES = [1, 2, 3, 4, 5];

const fleet = useFleet();
const encryption = createEncryption({ current: [Buffer.from(SESSION_KEY, 'base64url')] });
let victim: TestSession;
let other: TestSession;
/** All keys and values in Redis. */
let dump: Map<string, string>;

beforeAll(async () => {
  [victim, other] = [await fleet.createSession(), await fleet.createSession()];
  // These requests leave page cursors, sign-in transactions and traces of an ended session in Redis.
  const ended = await fleet.createSession();
  const { url } = fleet.at(0);
  for (const { cookie } of [victim, other, ended]) {
    await send(url, cookie);
    await send(url, cookie, { path: '/workspaces?limit=5&page=3' });
    await send(url, cookie, { path: '/auth/login' });
  }
  await signOut(url, ended.cookie);
  const keys = await fleet.redis.keys('*');
  dump = new Map(await Promise.all(keys.map(async (key) => [key, await valuesAt(key)] as const)));
});

/** Returns everything that is stored under a key, one value per line. */
async function valuesAt(key: string): Promise<string> {
  const type = await fleet.redis.type(key);
  if (type === 'hash') return Object.values(await fleet.redis.hgetall(key)).join('\n');
  if (type === 'list') return (await fleet.redis.lrange(key, 0, -1)).join('\n');
  return (await fleet.redis.get(key)) ?? '';
}

/** Tries to decrypt each value with each of these secrets, under every possible name. */
function decryptAll(secrets: Iterable<string>) {
  return [...dump].flatMap(([key, values]) =>
    values
      .split('\n')
      .flatMap((encrypted) =>
        [key, ...PAGES.map((page) => `${key}:${page}`)].flatMap((name) =>
          [...secrets].map((secret) => encryption.decrypt(encrypted, secret, name)?.text ?? null),
        ),
      ),
  );
}

test('Redis stores no token, session id or cookie in plain text, and every key has a time to live', async () => {
  const all = [...dump].flat().join('\n');
  for (const { id, cookie, grant } of [victim, other]) {
    for (const secret of [id, cookie, grant.accessToken, grant.refreshToken ?? '']) {
      expect(secret).not.toBe('');
      expect(all).not.toContain(secret);
      expect(all).not.toContain(createHash('sha256').update(secret).digest('hex'));
    }
  }
  const kinds = new Set([...dump.keys()].map((key) => key.split(':', 2).join(':')));
  expect([...kinds].toSorted()).toEqual([
    'cloakroom:cursor-lists',
    'cloakroom:cursors',
    'cloakroom:session',
    'cloakroom:sign-in-counts',
    'cloakroom:signin',
  ]);
  const ttls = [...dump.keys()].map(async (key) => fleet.redis.ttl(key));
  expect(await Promise.all(ttls)).not.toContain(-1);
});

test('an attacker with a dump of Redis and the session keys can’t decrypt anything', () => {
  const all = [...dump].flat();
  const secrets = new Set(['', SESSION_KEY, ...all, ...all.flatMap((text) => text.split(/[:.\n]/))]);
  const decrypted = decryptAll(secrets);
  expect(decrypted.length).toBeGreaterThan(1_000);
  expect(decrypted.filter((text) => text !== null)).toEqual([]);
});

test('an attacker with a dump of Redis, the session keys and one cookie can decrypt only that session’s data', () => {
  const decrypted = decryptAll([victim.id]).filter((text) => text !== null);
  expect(decrypted.filter((text) => text.includes(victim.grant.accessToken))).toHaveLength(1);
  expect(decrypted.length).toBeGreaterThan(1); // also the victim's page cursors
  expect(decrypted.filter((text) => text.includes(other.grant.accessToken))).toEqual([]);
  const key = sessionKey('cloakroom:', other.id);
  const encrypted = dump.get(key) ?? '';
  expect(encryption.decrypt(encrypted, other.id, key)?.text).toContain(other.grant.accessToken);
  expect(encryption.decrypt(encrypted, victim.id, key)).toBeNull();
});
