import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { useFixture } from '../support/fixtures.ts';
import { ok, startRawService } from '../support/raw-service.ts';
import { startTestApp } from '../support/test-app.ts';
import { send } from './request-text.ts';

const service = useFixture(startRawService);
const testApp = useFixture(async () =>
  startTestApp({ SERVICE_URL: service.origin, SERVICE_CONNECTIONS: '8' }),
);

const responseTo = async (name: string, cookie: string) =>
  send(testApp, { target: `/api/public/v1/${name}`, cookie });

afterEach(() => {
  jest.restoreAllMocks();
});

test('a late second response never reaches a later request while another connection is free', async () => {
  const sessions = await Promise.all(Array.from({ length: 4 }, async () => testApp.createSession()));
  let tamper: (() => unknown) | null = null;
  service.respond = ({ start }, socket) => {
    if (start.includes('/v1/first')) {
      tamper = () => socket.write(ok('stolen'));
      return ok('for first');
    }
    tamper?.(); // the worst moment: other requests are waiting for their responses
    tamper = null;
    void delay(20).then(() => socket.write(ok('for next')));
    return null;
  };
  // The pool does not reuse a connection until 100 ms after a response, measured with performance.now(). Stop this
  // clock, because a busy machine may take longer to send the other requests.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  expect(await responseTo('first', sessions[0]?.cookie ?? '')).toMatch(/for first$/);
  const others = await Promise.all(sessions.map(async ({ cookie }) => responseTo('next', cookie)));
  expect(others.map((response) => response.slice(-8))).toEqual(sessions.map(() => 'for next'));
});

test('requests reuse connections and never open more than SERVICE_CONNECTIONS', async () => {
  service.respond = (_request, socket) => {
    void delay(5).then(() => socket.write(ok('any')));
    return null;
  };
  const [openedBefore, requestsBefore] = [service.openedConnections(), service.requests.length];
  const { cookie } = await testApp.createSession();
  await Promise.all(Array.from({ length: 30 }, async () => responseTo('any', cookie)));
  expect(service.requests.length - requestsBefore).toBe(30);
  expect(service.openedConnections() - openedBefore).toBeLessThanOrEqual(8);
});
