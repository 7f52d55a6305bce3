import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';

let testApp: TestApp;
beforeAll(async () => {
  testApp = await startTestApp();
});
afterAll(async () => testApp[Symbol.asyncDispose]());

test.each(['/auth/Login', '/AUTH/login', '/auth/CALLBACK', '/Auth/session'])(
  'an address with other letters is none of ours: %s',
  async (path) => {
    const { status } = await fetch(testApp.origin + path, { redirect: 'manual' });
    expect(status).toBe(404);
  },
);
