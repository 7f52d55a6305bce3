import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../../support/constants.ts';
import { call, closeCalls } from '../../support/fleet/calls.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ processes: 2 });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await closeCalls();
});

// What keeps a session is in token-endpoint-outage.test.ts: any other error at any status.
test.each([200, 400, 401, 500, 503])(
  'invalid_grant with status %i ends the session, for every process',
  async (status) => {
    fleet.service.intercept = ({ url }, res) =>
      url === TOKEN_PATH && Boolean(res.writeHead(status).end('{"error":"invalid_grant"}'));
    const { id, cookie, grant } = await fleet.enter('demo', { expiresAt: 0 });
    const [here = '', there = ''] = fleet.processes.map(({ url }) => url);
    expect(await call(here, cookie)).toMatchObject({ status: 401, code: 'session_expired' });
    expect(await fleet.store.peek(id)).toBeNull();
    expect(await call(there, cookie)).toMatchObject({ status: 401, code: 'session_expired' });
    const page = await call(there, cookie, { path: '/workspaces', headers: { accept: 'text/html' } });
    expect(page).toMatchObject({
      status: 303,
      headers: { location: expect.stringMatching(/^\/auth\/login\?return_to=/) },
    });
    expect((await call(there, cookie, { path: '/auth/session' })).body).toBe('{"signedIn":false}');
    const asked = fleet.service.refreshes.filter(({ refreshToken }) => refreshToken === grant.refreshToken);
    expect(asked).toHaveLength(1);
  },
);

test('a grant that the user took back at the service ends at its next renewal', async () => {
  fleet.service.intercept = () => false;
  const { id, cookie, grant } = await fleet.enter('demo', { expiresAt: 0 });
  await fleet.service.revokeGrant(grant.accessToken);
  expect(await call(fleet.processes[0]?.url ?? '', cookie)).toMatchObject({ code: 'session_expired' });
  expect(await fleet.store.peek(id)).toBeNull();
});
