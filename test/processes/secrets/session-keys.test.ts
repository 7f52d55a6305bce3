import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createEncryption } from '../../../src/session/encryption.ts';
import { sessionKey } from '../../../src/session/store.ts';
import { createSessionCookie } from '../../../src/session/cookie.ts';
import { SESSION_KEY } from '../../support/constants.ts';
import { send, closeConnections, startLoad, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { TestSession, Fleet } from '../../support/fleet/fleet.ts';
import { createSecretFolder } from '../../support/fleet/secret-folder.ts';
import type { SecretFolder } from '../../support/fleet/secret-folder.ts';
import { eventually } from '../../support/eventually.ts';

const A = SESSION_KEY;
const B = randomBytes(32).toString('base64url');
const onlyB = { current: [Buffer.from(B, 'base64url')] };
const USERS = ['ada', 'ben', 'cai', 'dora'];
const PAGE = { path: '/workspaces', headers: { accept: 'text/html' } };

afterAll(closeConnections);

/** Whether a session stands in Redis under key B. */
async function isSealedUnderB({ redis }: Fleet, { id }: TestSession): Promise<boolean> {
  const key = sessionKey('cloakroom:', id);
  return createEncryption(onlyB).decrypt((await redis.get(key)) ?? '', id, key) !== null;
}

test('session keys go from A to B in two processes under load, and nobody is signed out', async () => {
  await using folder = await createSecretFolder({ SESSION_KEYS: A });
  await using fleet = await startFleet({ processes: 2, env: folder.env });
  const cookies = createSessionCookie({ https: false, sameSite: 'lax', sessionKeys: onlyB });
  const people = await Promise.all(USERS.map(async (user) => fleet.createSession(user)));
  const jar = people.map(({ cookie }) => cookie);
  /** As a browser does: what is set anew is sent from then on. */
  const load = startLoad(1, async (count) => {
    const at = count % people.length;
    const response = await send(
      fleet.at(Math.floor(count / 4)).url,
      jar[at] ?? '',
      count % 3 === 0 ? PAGE : {},
    );
    const [set] = [response.headers['set-cookie'] ?? []].flat();
    if (set !== undefined) jar[at] = set.split(';', 1)[0] ?? '';
    return response;
  });

  for (const keys of [`${A},${B}`, `${B},${A}`]) {
    await folder.write('SESSION_KEYS', keys);
    for (const each of fleet.processes)
      expect(await each.rereadSecrets()).toMatchObject({ level: 'info', changed: ['SESSION_KEYS'] });
  }
  await eventually(async () => {
    const encrypted = await Promise.all(people.map(async (person) => isSealedUnderB(fleet, person)));
    return encrypted.every(Boolean) && jar.every((cookie) => cookies.read(cookie) !== null);
  });
  await folder.write('SESSION_KEYS', B);
  for (const each of fleet.processes) await each.rereadSecrets();
  const before = load.responses.length;
  await eventually(async () => load.responses.length > before + 4 * people.length);

  const responses = await load.stop();
  expect(tally(responses)).toEqual({ 200: responses.length });
});

describe('the log', () => {
  let folder: SecretFolder;
  let fleet: Fleet;
  beforeAll(async () => {
    folder = await createSecretFolder({ SESSION_KEYS: A });
    fleet = await startFleet({ env: folder.env });
  });
  afterAll(async () => {
    await fleet[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  test.each([
    { from: [A], to: [B], warns: true },
    { from: [A, B], to: [B], warns: true }, // half of what was to be B,A
    { from: [A, B], to: [A], warns: false },
    { from: [A, B], to: [B, A], warns: false },
  ])('warns, and names no key, when the one that encrypted is gone (%#)', async ({ from, to, warns }) => {
    const process = fleet.at(0);
    const replaceBy = async (keys: readonly string[]) => {
      await folder.write('SESSION_KEYS', keys.join());
      await process.rereadSecrets();
      // Said by now: what comes of the next signal is said later.
      await process.rereadSecrets();
    };
    await replaceBy(from);
    const { length: before } = process.logged();
    await replaceBy(to);
    const lines = process.logged().slice(before);
    const ofKeys = lines.filter(({ msg }) => msg.startsWith('session key removed'));
    expect(ofKeys.map(({ level }) => level)).toEqual(warns ? ['warn'] : []);
    for (const key of [A, B]) expect(JSON.stringify(process.logged())).not.toContain(key);
  });
});

test('a key that was taken away opens nothing any more, not even what was remembered', async () => {
  await using folder = await createSecretFolder({ SESSION_KEYS: `${A},${B}` });
  await using fleet = await startFleet({ env: folder.env });
  const { url } = fleet.at(0);
  const { cookie, id } = await fleet.createSession();
  const signedByB = createSessionCookie({ https: false, sameSite: 'lax', sessionKeys: onlyB }).write(id);
  for (const sent of [cookie, signedByB]) expect((await send(url, sent)).status).toBe(200);

  await folder.write('SESSION_KEYS', B);
  await fleet.at(0).rereadSecrets();
  expect(await send(url, cookie)).toMatchObject({ status: 401, code: 'sign_in_required' });
  // The cookie is one of ours, but the session is encrypted under A.
  expect(await send(url, signedByB)).toMatchObject({ status: 401, code: 'session_expired' });
});
