import { randomBytes } from 'node:crypto';
import { request } from 'undici';
import { describe, expect, test } from '@jest/globals';
import { CLIENT_SECRET, SESSION_KEY } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import { send } from '../../support/fleet/requests.ts';
import { startFleet, useFleet } from '../../support/fleet/fleet.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { createSecretFolder } from '../../support/fleet/secret-folder.ts';

const newKey = () => randomBytes(32).toString('base64url');
const FROM_FILE = 'SESSION_KEYS (from SESSION_KEYS_FILE)';

describe('a reload', () => {
  const folder = useFixture(async () => createSecretFolder({ SESSION_KEYS: SESSION_KEY, CLIENT_SECRET }));
  const fleet = useFleet(() => ({ env: folder.env }));

  test.each([
    ['no content', '', 'SESSION_KEYS_FILE names an empty file'],
    ['part of a key', SESSION_KEY.slice(0, 30), `${FROM_FILE} has a key`],
    ['a key and part of another key', `${SESSION_KEY},${SESSION_KEY.slice(1)}`, FROM_FILE],
  ])('of a file with %s does not change any secret, even in other files', async (_what, text, problem) => {
    const { cookie } = await fleet.createSession('ada', { expiresAt: 0 });
    await folder.write('CLIENT_SECRET', 'another-secret');
    await folder.write('SESSION_KEYS', text);
    const line = await fleet.at(0).reloadSecrets();
    expect(line).toMatchObject({ level: 'error', problems: [expect.stringContaining(problem)] });
    expect(JSON.stringify(line)).not.toContain(text || 'nothing');
    expect((await send(fleet.at(0).url, cookie)).status).toBe(200);
  });
});

test('reloading a missing file changes nothing, and reloading a new file changes the secret', async () => {
  const metricsPort = await freePort();
  await using folder = await createSecretFolder({ SESSION_KEYS: SESSION_KEY });
  await using fleet = await startFleet({ env: { ...folder.env, METRICS_PORT: String(metricsPort) } });
  const { cookie } = await fleet.createSession();
  const { url } = fleet.at(0);
  await folder.remove('SESSION_KEYS');
  expect(await fleet.at(0).reloadSecrets()).toMatchObject({
    problems: ["SESSION_KEYS_FILE names a file that can't be read (ENOENT)"],
  });
  expect((await send(url, cookie)).status).toBe(200);

  await folder.write('SESSION_KEYS', newKey());
  expect(await fleet.at(0).reloadSecrets()).toMatchObject({ changed: ['SESSION_KEYS'] });
  expect((await send(url, cookie)).status).toBe(401);
  const unchanged = await fleet.at(0).reloadSecrets();
  expect(unchanged).toMatchObject({ level: 'info', msg: 'secrets unchanged' });
  expect(unchanged).not.toHaveProperty('changed');
  const metrics = (await send(`http://127.0.0.1:${metricsPort}`, '', { path: '/metrics' })).body;
  expect(metrics).toContain('cloakroom_secrets_reloads_total{outcome="done"} 2');
  expect(metrics).toContain('cloakroom_secrets_reloads_total{outcome="failed"} 1');
});

test('a response in progress completes after a reload', async () => {
  await using folder = await createSecretFolder({ SESSION_KEYS: SESSION_KEY, CLIENT_SECRET });
  await using fleet = await startFleet({ env: folder.env });
  const { cookie } = await fleet.createSession();
  let finish = () => {};
  fleet.service.intercept = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/plain' }).write('the first half, ');
    finish = () => res.end('and the second');
    return true;
  };
  const response = await request(`${fleet.at(0).url}/api/public/v1/slow`, { headers: { cookie } });
  await folder.write('SESSION_KEYS', newKey());
  await folder.write('CLIENT_SECRET', 'another-secret');
  expect(await fleet.at(0).reloadSecrets()).toMatchObject({ changed: ['CLIENT_SECRET', 'SESSION_KEYS'] });
  finish();
  expect(await response.body.text()).toBe('the first half, and the second');
});

test('SIGHUP without a secrets file changes nothing, and the process keeps running', async () => {
  await using fleet = await startFleet();
  const { cookie } = await fleet.createSession();
  expect(await fleet.at(0).reloadSecrets()).toMatchObject({
    level: 'info',
    msg: 'no secrets to reload',
  });
  expect((await send(fleet.at(0).url, cookie)).status).toBe(200);
});
