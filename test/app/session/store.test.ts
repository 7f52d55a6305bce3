import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import type { Session } from '../../../src/session/record.ts';
import { createSessionStore, hashId } from '../../../src/session/store.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { openRedis } from '../../support/redis/clients.ts';

const IDLE_SECONDS = 100;
const KEY = randomBytes(32);
const GRANT = {
  accessToken: 'secret-access',
  refreshToken: 'secret-refresh',
  expiresAt: 1,
  lifetimeMs: 1,
  scopes: [],
};

const privateRedis = useFixture(startPrivateRedis);
const redis = useFixture(async () => openRedis(privateRedis.url));
let store: ReturnType<typeof createStore>;
let clock: number;
let id: string;

beforeEach(() => {
  store = createStore();
  clock = Date.now();
  id = randomBytes(32).toString('base64url');
});

const createStore = (encryption = createEncryption({ current: [KEY] })) =>
  createSessionStore({
    redis,
    readSession: createSessionReads(redis, IDLE_SECONDS),
    prefix: 'test:',
    encryption,
    idleSeconds: IDLE_SECONDS,
    maxSeconds: 1_000,
    log: createLog('silent'),
    now: () => clock,
  });
const record = () => ({ grant: GRANT, createdAt: clock });
const keyOf = (sessionId: string) => `test:session:${hashId(sessionId)}`;

/** Reads a session as another process would, without a cache. */
async function read(sessionId: string) {
  const session = await createStore().read(sessionId);
  if (session === null) throw new Error('no session');
  return session;
}

describe('a session in Redis', () => {
  test('is read back unchanged', async () => {
    await store.create(id, record());
    expect(await read(id)).toMatchObject({ id, record: record() });
  });

  test('ends at its maximum age, however often it is used', async () => {
    await store.create(id, record());
    clock += 999_999;
    expect(await store.read(id)).not.toBeNull();
    clock += 1;
    expect(await store.read(id)).toBeNull();
    await eventually(async () => (await redis.get(keyOf(id))) === 'ended'); // the read ends the session in the background
    clock -= 500_000;
    expect(await store.read(id)).toBeNull();
  });

  test.each(['no JSON', '{"version":2}'])('whose record is %j is treated as missing', async (text) => {
    const encrypted = createEncryption({ current: [KEY] }).encrypt(text, id, keyOf(id));
    await redis.set(keyOf(id), encrypted, 'EX', 100);
    expect(await store.read(id)).toBeNull();
  });

  test('cannot be created twice', async () => {
    await store.create(id, record());
    await store.create(id, { ...record(), createdAt: 5 });
    expect((await read(id)).record.createdAt).toBe(clock);
  });

  test('leaves a tombstone for ten minutes, however it ends', async () => {
    const ends = [async () => store.end(id), async () => store.endUnchanged(await read(id))];
    for (const end of ends) {
      await redis.del(keyOf(id));
      await store.create(id, record());
      await end();
      await store.create(id, record()); // a late write
      expect(await redis.get(keyOf(id))).toBe('ended');
      expect(await redis.ttl(keyOf(id))).toBeGreaterThan(590);
      expect(await redis.ttl(keyOf(id))).toBeLessThanOrEqual(600);
    }
  });
});

describe('replacing a session', () => {
  let session: Session;
  beforeEach(async () => {
    await store.create(id, record());
    session = await read(id);
  });

  test('stores the new record and keeps the remaining idle time', async () => {
    await redis.expire(keyOf(id), 50);
    await store.replace(session, { ...record(), refreshedAt: 7 });
    const ttl = await redis.ttl(keyOf(id));
    expect(ttl).toBeGreaterThan(0); // -1 means that the record never expires
    expect(ttl).toBeLessThanOrEqual(50);
    expect((await read(id)).record.refreshedAt).toBe(7);
  });

  test('takes effect in a process that has just read the old record of the same length', async () => {
    const other = createStore();
    const current = await store.replace(session, { ...record(), refreshedAt: 1 });
    await other.read(id);
    if (current === null) throw new Error('not replaced');
    await store.replace(current, { ...record(), refreshedAt: 7 });
    expect((await other.read(id))?.record.refreshedAt).toBe(7);
  });

  test('saves the next read in the same process a decryption', async () => {
    const encryption = createEncryption({ current: [KEY] });
    const decrypt = jest.fn((...args: Parameters<typeof encryption.decrypt>) => encryption.decrypt(...args));
    const own = createStore({ ...encryption, decrypt });
    await own.replace(session, { ...record(), refreshedAt: 7 });
    expect((await own.read(id))?.record).toStrictEqual((await read(id)).record);
    expect(decrypt).not.toHaveBeenCalled();
  });

  test('under a session key that is removed during the write leaves nothing readable', async () => {
    const keys = { current: [KEY] };
    const own = createStore(createEncryption(keys));
    const replacing = own.replace(session, { ...record(), refreshedAt: 7 });
    keys.current = [randomBytes(32)];
    expect(await replacing).not.toBeNull();
    expect(await own.read(id)).toBeNull();
  });

  test('never overwrites a newer record', async () => {
    await store.replace(session, { ...record(), refreshedAt: 7 });
    expect(await store.replace(session, { ...record(), refreshedAt: 8 })).toBeNull();
    expect((await read(id)).record.refreshedAt).toBe(7);
  });

  test.each([
    ['ended', async () => store.end(id)],
    ['expired', async () => redis.del(keyOf(id))],
  ])('does not restore an %s session', async (_what, remove) => {
    await remove();
    expect(await store.replace(session, record())).toBeNull();
    expect(await store.read(id)).toBeNull();
  });

  test('prevents endUnchanged() with the old record from ending the session', async () => {
    await store.replace(session, { ...record(), refreshedAt: 7 });
    expect(await store.endUnchanged(session)).toBe(false);
    expect(await store.endUnchanged(await read(id))).toBe(true);
    expect(await store.read(id)).toBeNull();
  });
});

test('a value copied to the key of another session is refused, even if it has just been decrypted', async () => {
  const own = randomBytes(32).toString('base64url');
  await store.create(id, record());
  await store.create(own, record());
  await store.read(id);
  await redis.set(keyOf(own), (await redis.get(keyOf(id))) ?? '', 'EX', 100);
  expect(await store.read(own)).toBeNull();
});
