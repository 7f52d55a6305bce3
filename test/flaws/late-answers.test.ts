import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
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

/** A connection rests for 100 ms (resting-pool.ts): on a machine that is slower than this, others come too late to show it. */
const WHILE_IT_RESTS_MS = 80;
const MOST_TRIES = 50;

test('a second answer that is late finds nobody waiting on its connection while there are others', async () => {
  const cookies = await Promise.all(Array.from({ length: 4 }, async () => (await house.enter()).cookie));
  let tookMs = Infinity;
  let answers: string[] = [];
  for (let tries = 0; tookMs > WHILE_IT_RESTS_MS && tries < MOST_TRIES; tries += 1) {
    let tamper: (() => unknown) | null = null;
    let [answeredAt, askedAt] = [0, 0];
    service.answer = (socket, head) => {
      if (head.includes('/v1/first')) {
        tamper = () => socket.write(whole('stolen'));
        answeredAt = performance.now();
        socket.write(whole('for first'));
        return;
      }
      askedAt = performance.now();
      tamper?.(); // the worst moment: others wait for their answers
      tamper = null;
      void delay(20).then(() => socket.write(whole('for next')));
    };
    expect(await call('first')).toMatch(/for first$/);
    const others = await Promise.all(cookies.map(async (cookie) => call('next', cookie)));
    tookMs = askedAt - answeredAt;
    answers = others.map((answer) => answer.slice(-8));
  }
  expect(tookMs).toBeLessThanOrEqual(WHILE_IT_RESTS_MS);
  expect(answers).toEqual(cookies.map(() => 'for next'));
});

test('connections are used again, and no more are opened than allowed', async () => {
  service.answer = (socket) => void delay(5).then(() => socket.write(whole('any')));
  const [openedBefore, callsBefore] = [service.opened(), service.calls.length];
  const { cookie } = await house.enter();
  await Promise.all(Array.from({ length: 30 }, async () => call('any', cookie)));
  expect(service.calls.length - callsBefore).toBe(30);
  expect(service.opened() - openedBefore).toBeLessThanOrEqual(8);
});
