import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createEncryption } from '../../../src/session/encryption.ts';
import { sessionKey } from '../../../src/session/store.ts';
import { createSessionCookie } from '../../../src/session/cookie.ts';
import { ACCEPT_HTML, SESSION_KEY } from '../../support/constants.ts';
import { send, startLoad, tally } from '../../support/fleet/requests.ts';
import { startFleet, type TestSession, type Fleet } from '../../support/fleet/fleet.ts';
import { createSecretFolder } from '../../support/fleet/secret-folder.ts';
import { eventually } from '../../support/eventually.ts';

const A = SESSION_KEY;
const B = randomBytes(32).toString('base64url');
const onlyB = { current: [Buffer.from(B, 'base64url')] };
const USERS = ['ada', 'ben', 'cai', 'dora'];
const PAGE = { path: '/workspaces', headers: ACCEPT_HTML };

/** Returns whether a session record is encrypted under key B. */
async function isEncryptedUnderB({ redis }: Fleet, { id }: TestSession): Promise<boolean> {
  const key = sessionKey('cloakroom:', id);
  return createEncryption(onlyB).decrypt((await redis.get(key)) ?? '', id, key) !== null;
}

test('two processes under load rotate the session keys from A to B, and no user is signed out', async () => {
  await using folder = await createSecretFolder({ SESSION_KEYS: A });
  await using fleet = await startFleet({ processes: 2, env: folder.env });
  const cookies = createSessionCookie({ https: false, sameSite: 'lax', sessionKeys: onlyB });
  const sessions = await Promise.all(USERS.map(async (user) => fleet.createSession(user)));
  const jar = sessions.map(({ cookie }) => cookie);
  // Use a new cookie as soon as it is set, as a browser would.
  const load = startLoad(1, async (count) => {
    const at = count % sessions.length;
    const { url } = fleet.at(Math.floor(count / 4));
    const response = await send(url, jar[at] ?? '', count % 3 === 0 ? PAGE : {});
    const [set] = [response.headers['set-cookie'] ?? []].flat();
    if (set !== undefined) jar[at] = set.split(';', 1)[0] ?? '';
    return response;
  });

  const changeKeys = async (keys: string) => {
    await folder.write('SESSION_KEYS', keys);
    for (const each of fleet.processes)
      expect(await each.reloadSecrets()).toMatchObject({ level: 'info', changed: ['SESSION_KEYS'] });
  };
  await changeKeys(`${A},${B}`);
  await changeKeys(`${B},${A}`);
  await eventually(async () => {
    const encrypted = await Promise.all(sessions.map(async (session) => isEncryptedUnderB(fleet, session)));
    return encrypted.every(Boolean) && jar.every((cookie) => cookies.read(cookie) !== null);
  });
  await changeKeys(B);
  const before = load.responses.length;
  await eventually(async () => load.responses.length > before + 4 * sessions.length);

  const responses = await load.stop();
  expect(tally(responses)).toEqual({ 200: responses.length });
});

test.each([
  { from: [A], to: [B], warns: true },
  { from: [A, B], to: [B], warns: true }, // an incomplete write of B,A
  { from: [A, B], to: [A], warns: false },
  { from: [A, B], to: [B, A], warns: false },
])(
  'the log warns only if the encryption key was removed, and never shows a key (case %#)',
  async ({ from, to, warns }) => {
    await using folder = await createSecretFolder({ SESSION_KEYS: from.join() });
    await using fleet = await startFleet({ env: folder.env });
    const process = fleet.at(0);
    await folder.write('SESSION_KEYS', to.join());
    await process.reloadSecrets();
    await process.reloadSecrets(); // once this reload is logged, all log lines from the first have arrived
    const ofKeys = process.logged().filter(({ msg }) => msg.startsWith('session key removed'));
    expect(ofKeys.map(({ level }) => level)).toEqual(warns ? ['warn'] : []);
    for (const key of [A, B]) expect(JSON.stringify(process.logged())).not.toContain(key);
  },
);

test('a removed key no longer decrypts anything, not even a cached session', async () => {
  await using folder = await createSecretFolder({ SESSION_KEYS: `${A},${B}` });
  await using fleet = await startFleet({ env: folder.env });
  const { url } = fleet.at(0);
  const { cookie, id } = await fleet.createSession();
  const signedByB = createSessionCookie({ https: false, sameSite: 'lax', sessionKeys: onlyB }).write(id);
  for (const sent of [cookie, signedByB]) expect((await send(url, sent)).status).toBe(200);

  await folder.write('SESSION_KEYS', B);
  await fleet.at(0).reloadSecrets();
  expect(await send(url, cookie)).toMatchObject({ status: 401, code: 'sign_in_required' });
  // The cookie signature is valid, but the session is encrypted under A.
  expect(await send(url, signedByB)).toMatchObject({ status: 401, code: 'session_expired' });
});
