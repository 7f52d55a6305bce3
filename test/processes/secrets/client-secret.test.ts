import { expect, test } from '@jest/globals';
import { CLIENT_SECRET } from '../../support/constants.ts';
import { send, tally } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { createSecretFolder } from '../../support/fleet/secret-folder.ts';
import { eventually } from '../../support/eventually.ts';

test('a process uses a new client secret immediately after a reload, and no user is signed out before the reload', async () => {
  await using folder = await createSecretFolder({ CLIENT_SECRET });
  await using fleet = await startFleet({ processes: 2, env: folder.env });
  const unexpired = await fleet.createSession('ada');
  const expired = await Promise.all(
    ['ben', 'cai'].map(async (user) => fleet.createSession(user, { expiresAt: 0 })),
  );
  const sendAll = async () =>
    Promise.all(
      fleet.processes.flatMap(({ url }) =>
        [unexpired, ...expired].map(async ({ cookie }) => send(url, cookie)),
      ),
    );

  fleet.service.changeClientSecret('another-secret');
  expect(tally(await sendAll())).toEqual({ 200: 2, '503 token_endpoint_unavailable': 4 });

  await folder.write('CLIENT_SECRET', 'another-secret');
  for (const each of fleet.processes)
    expect(await each.reloadSecrets()).toMatchObject({ level: 'info', changed: ['CLIENT_SECRET'] });
  // After a failure, Cloakroom waits at least a second before it refreshes the session again.
  await eventually(async () => tally(await sendAll())[200] === 6);
});
