import { afterAll, expect, test } from '@jest/globals';
import { CLIENT_SECRET } from '../../support/constants.ts';
import { send, closeConnections, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { createSecretFolder } from '../../support/fleet/secret-folder.ts';
import { eventually } from '../../support/eventually.ts';

afterAll(closeConnections);

test('a changed client secret is used at once, and in the gap before that nobody is signed out', async () => {
  await using folder = await createSecretFolder({ CLIENT_SECRET });
  await using fleet = await startFleet({ processes: 2, env: folder.env });
  const living = await fleet.createSession('ada');
  const spent = await Promise.all(
    ['ben', 'cai'].map(async (user) => fleet.createSession(user, { expiresAt: 0 })),
  );
  const callAll = async () =>
    Promise.all(
      fleet.processes.flatMap(({ url }) => [living, ...spent].map(async ({ cookie }) => send(url, cookie))),
    );

  fleet.service.changeClientSecret('another-secret');
  expect(tally(await callAll())).toEqual({ 200: 2, '503 token_endpoint_unavailable': 4 });

  await folder.write('CLIENT_SECRET', 'another-secret');
  for (const each of fleet.processes)
    expect(await each.rereadSecrets()).toMatchObject({ level: 'info', changed: ['CLIENT_SECRET'] });
  // After a failure a session is not renewed again for a second.
  await eventually(async () => tally(await callAll())[200] === 6);
});
