import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startHouse } from '../../support/house.ts';
import type { House } from '../../support/house.ts';

let house: House;
beforeAll(async () => {
  house = await startHouse();
});
afterAll(async () => house[Symbol.asyncDispose]());

test.each(['/auth/Login', '/AUTH/login', '/auth/CALLBACK', '/Auth/session'])(
  'an address with other letters is none of ours: %s',
  async (path) => {
    const { status } = await fetch(house.origin + path, { redirect: 'manual' });
    expect(status).toBe(404);
  },
);
