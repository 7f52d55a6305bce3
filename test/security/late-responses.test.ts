import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { useFixture } from '../support/fixtures.ts';
import { startTestApp } from '../support/test-app.ts';
import { ok, startRawService } from '../support/raw-service.ts';
import { sendRaw } from '../support/raw.ts';
import { requestText } from './request-text.ts';

const service = useFixture(startRawService);
const testApp = useFixture(async () =>
  startTestApp({ SERVICE_URL: service.origin, SERVICE_CONNECTIONS: '8' }),
);

async function call(name: string, cookieBefore?: string): Promise<string> {
  const cookie = cookieBefore ?? (await testApp.createSession()).cookie;
  const target = `/api/public/v1/${name}`;
  return sendRaw(testApp, requestText({ target, fields: [`Cookie: ${cookie}`] }));
}

afterEach(() => {
  jest.restoreAllMocks();
});

test('a second answer that is late finds nobody waiting on its connection while there are others', async () => {
  const cookies = await Promise.all(
    Array.from({ length: 4 }, async () => (await testApp.createSession()).cookie),
  );
  let tamper: (() => unknown) | null = null;
  service.answer = ({ start }, socket) => {
    if (start.includes('/v1/first')) {
      tamper = () => socket.write(ok('stolen'));
      return ok('for first');
    }
    tamper?.(); // the worst moment: others wait for their answers
    tamper = null;
    void delay(20).then(() => socket.write(ok('for next')));
    return null;
  };
  // By this clock a connection rests for 100 ms (connection-pool.ts): on a busy machine the others come later than that.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  expect(await call('first')).toMatch(/for first$/);
  const others = await Promise.all(cookies.map(async (cookie) => call('next', cookie)));
  expect(others.map((answer) => answer.slice(-8))).toEqual(cookies.map(() => 'for next'));
});

test('connections are used again, and no more are opened than allowed', async () => {
  service.answer = (_request, socket) => {
    void delay(5).then(() => socket.write(ok('any')));
    return null;
  };
  const [openedBefore, callsBefore] = [service.opened(), service.requests.length];
  const { cookie } = await testApp.createSession();
  await Promise.all(Array.from({ length: 30 }, async () => call('any', cookie)));
  expect(service.requests.length - callsBefore).toBe(30);
  expect(service.opened() - openedBefore).toBeLessThanOrEqual(8);
});
