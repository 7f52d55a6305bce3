import { expect, test } from '@jest/globals';
import { send, tally } from '../../support/fleet/requests.ts';
import { useFleet } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';

const USERS = 100;
const REQUESTS_EACH = 20;

const fleet = useFleet({
  processes: 3,
  // Avoid timeouts, because 2,000 concurrent requests on a loaded machine take longer than the defaults allow.
  env: { TOKEN_TIMEOUT_SECONDS: '120', SERVICE_TIMEOUT_SECONDS: '120' },
  service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
});

test('100 users with 20 concurrent requests each, across three processes, receive only their own responses', async () => {
  // A third of the tokens have expired, and the service refuses another third, so refreshes run alongside the requests.
  const sessions = await Promise.all(
    Array.from({ length: USERS }, async (_, at) => {
      const session = await fleet.createSession(`user-${at}`, at % 3 === 0 ? { expiresAt: 0 } : {});
      if (at % 3 === 1) await fleet.service.revokeAccess(session.grant.accessToken);
      return { user: `user-${at}`, ...session };
    }),
  );
  const senders = sessions.flatMap((session) => Array.from({ length: REQUESTS_EACH }, () => session));
  const responses = await Promise.all(senders.map(async ({ cookie }, at) => send(fleet.at(at).url, cookie)));
  reportFault('100 users × 20 requests over three processes', responses);

  expect(tally(responses)).toEqual({ 200: USERS * REQUESTS_EACH });
  const mixed = responses.filter(({ body }, at) => body !== JSON.stringify({ user: senders[at]?.user }));
  expect(mixed).toEqual([]);
  expect(fleet.service.refreshes).toHaveLength(sessions.filter((_, at) => at % 3 !== 2).length);
});
