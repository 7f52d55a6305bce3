import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { keyBesideSession } from '../../../src/session/store.ts';
import { ACCEPT_HTML as HTML, TOKEN_PATH } from '../../support/constants.ts';
import { call, closeCalls } from '../../support/fleet/calls.ts';
import type { Answer } from '../../support/fleet/calls.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import type { RedisServer } from '../../support/fleet/redis-server.ts';
import { startSlowLine } from '../../support/fleet/slow-line.ts';
import type { SlowLine } from '../../support/fleet/slow-line.ts';
import { eventually } from '../../support/eventually.ts';

/** Matches the clean-up of this session's refresh only. That of an earlier test may still be in flight. */
const removesNote = (id: string) => {
  const key = keyBesideSession('cloakroom:', 'refresh-journal', id);
  return new RegExp(`string\\.sub[^]*'DEL'[^]*${key.replaceAll(/[{}]/g, '\\$&')}`);
};

let redis: RedisServer;
let line: SlowLine;
let fleet: Fleet;

beforeAll(async () => {
  redis = await startRedisServer();
  line = await startSlowLine(redis.port);
  // The test's own connection goes round the line.
  fleet = await startFleet({ redisUrl: redis.url, env: { REDIS_URL: line.url } });
});
afterAll(async () => {
  await closeCalls();
  await fleet[Symbol.asyncDispose]();
  await line[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});
afterEach(async () => {
  line.thaw();
  fleet.service.intercept = () => false;
  // Over both connections: what is sent behind all that was frozen has its answer.
  await eventually(async () => (await call(fleet.at(0).url, '', { path: '/readyz' })).status === 200);
  await eventually(async () => {
    const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    return (await call(fleet.at(0).url, cookie)).status === 200;
  });
});

function expectInTime(answer: Answer, status: number): void {
  expect(line.isFrozen()).toBe(true);
  expect(answer.status).toBe(status);
  expect(answer.ms).toBeLessThan(2_000);
}

describe('Redis freezes in the middle of a renewal', () => {
  test.each([
    ['when the lock is asked for', /refresh-lock:/],
    ['when the session is read under it', /\$3\r\nget\r\n\$\d+\r\ncloakroom:session/],
    ['when the attempt is noted', /"state":"open"/],
    ['when the new tokens are stored', /KEEPTTL/],
  ])('%s: the answer is a 503 in time, and the next one is right', async (_when, command) => {
    const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    line.freezeAt = command;
    expectInTime(await call(fleet.at(0).url, cookie), 503);
    line.thaw();
    await eventually(async () => (await call(fleet.at(0).url, cookie)).status === 200);
  });

  test('when all is stored: the answer waits for no clean-up', async () => {
    const { id, cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    line.freezeAt = removesNote(id);
    const answer = await call(fleet.at(0).url, cookie);
    await eventually(async () => line.isFrozen());
    expectInTime(answer, 200);
  });

  test('and what should have been cleaned up can’t be: the lock runs out all the same', async () => {
    const { id, cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    const leftBehind = () =>
      fleet
        .at(0)
        .logged()
        .filter(({ msg }) => msg === 'refresh cleanup failed; keys expire by themselves').length;
    const before = leftBehind();
    line.freezeAt = removesNote(id);
    expect((await call(fleet.at(0).url, cookie)).status).toBe(200);
    await eventually(async () => leftBehind() >= before + 2);
    line.thaw();
    const lock = keyBesideSession('cloakroom:', 'refresh-lock', id);
    await eventually(async () => (await fleet.redis.exists(lock)) === 0);
  });

  test('when the token endpoint has failed: the answer waits for no clean-up', async () => {
    fleet.service.intercept = ({ url }, res) => url === TOKEN_PATH && Boolean(res.writeHead(500).end());
    const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
    line.freezeAt = /"state":"failed"/;
    const answer = await call(fleet.at(0).url, cookie);
    await eventually(async () => line.isFrozen());
    expectInTime(answer, 503);
  });
});

describe('Redis freezes at the end of a sign-in', () => {
  /** As far as the callback, with a code that the token endpoint takes; gives the callback's answer. */
  const comeBack = async (cookie: string, command: RegExp): Promise<Answer> => {
    const { url } = fleet.at(0);
    const begun = await call(url, cookie, { path: '/auth/login', headers: HTML });
    const [binding] = String(begun.headers['set-cookie']).split(';');
    const state = new URL(String(begun.headers['location'])).searchParams.get('state');
    const { accessToken, refreshToken } = await fleet.service.issue('demo');
    const tokens = { access_token: accessToken, refresh_token: refreshToken, expires_in: 900 };
    fleet.service.intercept = (req, res) =>
      req.url === TOKEN_PATH && Boolean(res.end(JSON.stringify(tokens)));
    line.freezeAt = command;
    return call(url, `${cookie}; ${binding}`, {
      path: `/auth/callback?code=c&state=${state}`,
      headers: HTML,
    });
  };

  test('before the new session is stored: a 503 page, and the old session goes on', async () => {
    const old = await fleet.createSession();
    const answer = await comeBack(old.cookie, /\$2\r\nNX\r\n/);
    expectInTime(answer, 503);
    expect(String(answer.headers['set-cookie'])).not.toContain('cloakroom=');
    line.thaw();
    await eventually(async () => (await call(fleet.at(0).url, old.cookie)).status === 200);
  });

  test('after it was stored: a sign-in like any other, and the old session is ended as soon as can be', async () => {
    const old = await fleet.createSession();
    const answer = await comeBack(old.cookie, /ended/);
    expectInTime(answer, 303);
    const fresh = /cloakroom=[^;]+/.exec(String(answer.headers['set-cookie']))?.[0] ?? '';
    line.thaw();
    await eventually(async () => (await call(fleet.at(0).url, fresh)).status === 200);
    await eventually(async () => (await call(fleet.at(0).url, old.cookie)).status === 401);
  });
});
