import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call, closeCalls, tally } from '../../support/fleet/calls.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { reportFault } from '../../support/fleet/report.ts';

const USERS = 100;
const CALLS_EACH = 20;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    processes: 3,
    // On a loaded machine 2,000 calls at once take longer than the default, and a token request that times out is
    // another fault than the one looked for here.
    env: { TOKEN_TIMEOUT_SECONDS: '120', SERVICE_TIMEOUT_SECONDS: '120' },
    service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
  });
});
afterAll(async () => {
  await closeCalls();
  await fleet[Symbol.asyncDispose]();
});

test('100 users with 20 calls at once each over three processes: each answer belongs to its own user', async () => {
  // A third comes with a spent token, a third with one that the service refuses: renewals run among the calls.
  const sessions = await Promise.all(
    Array.from({ length: USERS }, async (_, at) => {
      const entered = await fleet.enter(`user-${at}`, at % 3 === 0 ? { expiresAt: 0 } : {});
      if (at % 3 === 1) await fleet.service.revokeAccess(entered.grant.accessToken);
      return { user: `user-${at}`, ...entered };
    }),
  );
  const asked = sessions.flatMap((session) => Array.from({ length: CALLS_EACH }, () => session));
  const answers = await Promise.all(asked.map(async ({ cookie }, at) => call(fleet.at(at).url, cookie)));
  reportFault({ fault: '100 users × 20 calls over three processes', answers, sessionsLost: 0 });

  expect(tally(answers)).toEqual({ 200: USERS * CALLS_EACH });
  const mixed = answers.filter(({ body }, at) => body !== JSON.stringify({ user: asked[at]?.user }));
  expect(mixed).toEqual([]);
  const renewed = sessions.filter((_, at) => at % 3 !== 2);
  expect(fleet.service.refreshes).toHaveLength(renewed.length);
});
