import { createHash, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { createEncryption } from '../../../src/session/encryption.ts';
import { hashId } from '../../../src/session/store.ts';
import { SESSION_KEY } from '../../support/constants.ts';
import { send, signOut } from '../../support/fleet/requests.ts';
import type { LogLine } from '../../support/fleet/cloakroom.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';

const fleet = useFleet({ processes: 2 });
let victim: TestSession;
let other: TestSession;

const keyOf = ({ id }: TestSession) => `cloakroom:session:${hashId(id)}`;
const valueOf = async (session: TestSession) => (await fleet.redis.get(keyOf(session))) ?? '';
const PAGES = [1, 2, 3, 4, 5];
const encryption = createEncryption({ current: [Buffer.from(SESSION_KEY, 'base64url')] });

describe('a thief', () => {
  /** Every key and every value, as a copy of Redis would show them. */
  let dump: Map<string, string>;

  beforeAll(async () => {
    [victim, other] = [await fleet.createSession(), await fleet.createSession()];
    // Requests that leave data in Redis: pages of a list, a sign-in in progress, a session that ended.
    const ended = await fleet.createSession();
    for (const { cookie } of [victim, other, ended]) {
      await send(fleet.at(0).url, cookie);
      await send(fleet.at(0).url, cookie, { path: '/workspaces?limit=5&page=3' });
      await send(fleet.at(0).url, cookie, { path: '/auth/login' });
    }
    await signOut(fleet.at(0).url, ended.cookie);

    const keys = await fleet.redis.keys('*');
    dump = new Map(await Promise.all(keys.map(async (key) => [key, await everythingAt(key)] as const)));
  });

  test('with all of Redis finds no token, no id, no cookie and no verifier in it', () => {
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
  });

  test('with all of Redis and the session keys opens nothing', () => {
    // Try every part of the dump as the secret, under every name that a value may have.
    const all = [...dump].flat();
    const secrets = new Set(['', SESSION_KEY, ...all, ...all.flatMap((text) => text.split(/[:.\n]/))]);
    const tried = [...dump].flatMap(([key, value]) =>
      value
        .split('\n')
        .flatMap((encrypted) =>
          [key, ...PAGES.map((page) => `${key}:${page}`)].flatMap((name) =>
            [...secrets].map((secret) => encryption.decrypt(encrypted, secret, name)),
          ),
        ),
    );
    expect(tried.length).toBeGreaterThan(1_000);
    expect(tried.filter((opened) => opened !== null)).toEqual([]);
  });

  test('with one cookie, too, opens what that session left, and nothing of another', () => {
    const opened = [...dump].flatMap(([key, value]) =>
      value.split('\n').flatMap((encrypted) =>
        [key, ...PAGES.map((page) => `${key}:${page}`)].flatMap((name) => {
          const plain = encryption.decrypt(encrypted, victim.id, name);
          return plain === null ? [] : [plain.text];
        }),
      ),
    );
    expect(opened.filter((text) => text.includes(victim.grant.accessToken))).toHaveLength(1);
    expect(opened.length).toBeGreaterThan(1); // its page tokens
    expect(opened.filter((text) => text.includes(other.grant.accessToken))).toEqual([]);
    const [encrypted, key] = [dump.get(keyOf(other)) ?? '', keyOf(other)];
    expect([
      encryption.decrypt(encrypted, other.id, key),
      encryption.decrypt(encrypted, victim.id, key),
    ]).toEqual([{ usesFirstKey: true, text: expect.stringContaining(other.grant.accessToken) }, null]);
  });
});

describe('an encrypted value that was', () => {
  const NONCE_AND_TAG = 16 + 12;
  test.each<[how: string, change: (encrypted: string) => string | Promise<string>]>([
    ['moved to the key of another session', async () => valueOf(await fleet.createSession('mallory'))],
    ['cut at its end', (encrypted) => encrypted.slice(0, -1)],
    [
      'cut to its nonce and tag',
      (encrypted) => encrypted.slice(0, encrypted.lastIndexOf('.') + 1 + NONCE_AND_TAG),
    ],
    ['cut to nothing', () => ''],
    ['flipped in one bit of its text', (encrypted) => flip(encrypted, 40)],
    ['flipped in one bit of its nonce', (encrypted) => flip(encrypted, 0)],
    ['flipped in one bit of its tag', (encrypted) => flip(encrypted, -1)],
    ['given another version', (encrypted) => encrypted.replace(/^1/, '2')],
    [
      'given to another session key',
      (encrypted) => encrypted.replace(/\.[^.]+\./, `.${randomBytes(6).toString('base64url')}.`),
    ],
    ['replaced by what was never encrypted', () => JSON.stringify({ grant: { accessToken: 'mine' } })],
  ])('%s counts as no session, and the log says so without showing it', async (_how, change) => {
    const session = await fleet.createSession();
    expect((await send(fleet.at(0).url, session.cookie)).status).toBe(200);
    const changed = await change(await valueOf(session));
    await fleet.redis.set(keyOf(session), changed, 'KEEPTTL');

    for (const at of [0, 1]) {
      const response = await send(fleet.at(at).url, session.cookie);
      expect(response).toMatchObject({ status: 401, code: 'session_expired' });
      const refused = (line: LogLine) =>
        line.msg === 'session record refused' && line['key'] === keyOf(session);
      await eventually(async () => fleet.at(at).logged().some(refused));
      const lines = JSON.stringify(fleet.at(at).logged());
      for (const secret of [changed || 'nothing', session.grant.accessToken, session.id]) {
        expect(lines).not.toContain(secret);
      }
    }
    const status = await send(fleet.at(0).url, session.cookie, { path: '/auth/session' });
    expect(JSON.parse(status.body)).toEqual({ signedIn: false });
  });
});

/** Everything that a key holds, a line each. */
async function everythingAt(key: string): Promise<string> {
  const type = await fleet.redis.type(key);
  if (type === 'hash') return Object.values(await fleet.redis.hgetall(key)).join('\n');
  if (type === 'list') return (await fleet.redis.lrange(key, 0, -1)).join('\n');
  return (await fleet.redis.get(key)) ?? '';
}

/** Flips one bit of the encrypted bytes; from the end where `at` is negative. */
function flip(encrypted: string, at: number): string {
  const dot = encrypted.lastIndexOf('.') + 1;
  const bytes = Buffer.from(encrypted.slice(dot), 'base64url');
  const place = at < 0 ? bytes.length + at : at;
  bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
  return encrypted.slice(0, dot) + bytes.toString('base64url');
}
