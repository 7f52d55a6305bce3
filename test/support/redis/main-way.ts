import { expect, test } from '@jest/globals';
import { Browser } from '../browser.ts';
import { send, signOut, tally } from '../fleet/requests.ts';
import { passSignIn } from '../test-app.ts';
import type { TwoProcesses } from './two-processes.ts';

/** More than enough for some of them to fall to each master of a cluster. */
const SESSIONS = 30;

/** Tests that whatever Cloakroom does with Redis works with the Redis of this fleet. */
export function testUserJourney(given: () => TwoProcesses): void {
  test('a person signs in, looks through the pages and signs out, for good', async () => {
    const { origin, processes } = given();
    const browser = new Browser();
    const consent = await passSignIn(browser, await browser.open(`${origin}/auth/login`));
    const first = await browser.follow(await browser.press(consent, 'Allow'));
    expect(first.text).toContain('Items 1–25');
    expect((await browser.open(`${origin}/workspaces?limit=25&page=3`)).text).toContain('Items 51–75');
    expect((await browser.open(`${origin}/workspaces?limit=25&page=2`)).text).toContain('Items 26–50');
    // Pages show without their tokens, too: it is the log that tells.
    const logged = processes.flatMap((each) => each.logged());
    expect(logged.filter(({ msg }) => msg === 'page cursors not stored')).toEqual([]);

    const cookie = await browser.jar.getCookieString(origin);
    const left = await browser.press(first, 'Sign out');
    expect(left.status).toBe(303);
    const after = await Promise.all(processes.map(async ({ url }) => send(url, cookie)));
    expect(tally(after)).toEqual({ '401 session_expired': processes.length });
  });

  test('sessions are read by every process, renewed once, and ended for all', async () => {
    const fleet = given();
    const { processes, service } = fleet;
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, async (_, at) => fleet.createSession(`user-${at}`, { expiresAt: 0 })),
    );
    const old = new Set(sessions.map(({ grant }) => grant.refreshToken));
    const callAll = async () =>
      Promise.all(sessions.flatMap(({ cookie }) => processes.map(async ({ url }) => send(url, cookie))));

    expect(tally(await callAll())).toEqual({ 200: SESSIONS * processes.length });
    expect(service.refreshes.filter(({ refreshToken }) => old.has(refreshToken))).toHaveLength(SESSIONS);

    const [first] = processes;
    const left = await Promise.all(sessions.map(async ({ cookie }) => signOut(first?.url ?? '', cookie)));
    expect(tally(left)).toEqual({ 303: SESSIONS });
    expect(tally(await callAll())).toEqual({ '401 session_expired': SESSIONS * processes.length });
  });
}
