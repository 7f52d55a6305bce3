import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { sendRaw } from '../support/raw.ts';
import { startRawService, whole } from './raw-service.ts';
import type { RawService } from './raw-service.ts';
import { requestText } from './request-text.ts';

let house: House;
let service: RawService;
beforeAll(async () => {
  service = await startRawService();
  house = await startHouse({ SERVICE_URL: service.url, SERVICE_CONNECTIONS: '8' });
});
afterAll(async () => {
  await house[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

async function call(name: string, cookieBefore?: string): Promise<string> {
  const cookie = cookieBefore ?? (await house.enter()).cookie;
  const target = `/api/public/v1/${name}`;
  return sendRaw(house, requestText({ target, fields: [`Cookie: ${cookie}`] }));
}

afterEach(() => {
  jest.restoreAllMocks();
});

test('a second answer that is late finds nobody waiting on its connection while there are others', async () => {
  const cookies = await Promise.all(Array.from({ length: 4 }, async () => (await house.enter()).cookie));
  let tamper: (() => unknown) | null = null;
  service.answer = (socket, head) => {
    if (head.includes('/v1/first')) {
      tamper = () => socket.write(whole('stolen'));
      socket.write(whole('for first'));
      return;
    }
    tamper?.(); // the worst moment: others wait for their answers
    tamper = null;
    void delay(20).then(() => socket.write(whole('for next')));
  };
  // By this clock a connection rests for 100 ms (resting-pool.ts): on a busy machine the others come later than that.
  jest.spyOn(performance, 'now').mockReturnValue(performance.now());
  expect(await call('first')).toMatch(/for first$/);
  const others = await Promise.all(cookies.map(async (cookie) => call('next', cookie)));
  expect(others.map((answer) => answer.slice(-8))).toEqual(cookies.map(() => 'for next'));
});

test('connections are used again, and no more are opened than allowed', async () => {
  service.answer = (socket) => void delay(5).then(() => socket.write(whole('any')));
  const [openedBefore, callsBefore] = [service.opened(), service.calls.length];
  const { cookie } = await house.enter();
  await Promise.all(Array.from({ length: 30 }, async () => call('any', cookie)));
  expect(service.calls.length - callsBefore).toBe(30);
  expect(service.opened() - openedBefore).toBeLessThanOrEqual(8);
});
