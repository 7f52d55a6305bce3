import { expect, test } from '@jest/globals';
import request from 'supertest';
import { WORKSPACES_PATH } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp();
const SAME_SITE = { 'sec-fetch-site': 'same-origin' };

test('a sign-out ends the session and clears the browser’s cookie, cache and storage', async () => {
  const { browser } = await testApp.signIn();
  const cookie = await browser.cookie(testApp.origin, 'cloakroom');
  const done = await browser.fetch(`${testApp.origin}/auth/logout`, { method: 'POST', headers: SAME_SITE });
  expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
  expect(done.headers.get('clear-site-data')).toBe('"cache", "storage"');
  expect(await browser.cookie(testApp.origin, 'cloakroom')).toBeUndefined();
  const api = await request(testApp.origin).get(WORKSPACES_PATH).set('cookie', `cloakroom=${cookie}`);
  expect(api.body.code).toBe('session_expired');
});

test('a script that signs out gets a 204', async () => {
  const { cookie } = await testApp.createSession();
  await request(testApp.origin)
    .post('/auth/logout')
    .set({ ...SAME_SITE, cookie, accept: 'application/json' })
    .expect(204);
});

test.each([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }, {}])(
  'a sign-out with %j is refused',
  async (headers) => {
    const { id, cookie } = await testApp.createSession();
    await request(testApp.origin)
      .post('/auth/logout')
      .set({ ...headers, cookie })
      .expect(403);
    expect(await testApp.services.store.read(id)).not.toBeNull();
  },
);

test('a GET request does not sign the user out', async () => {
  const { id, cookie } = await testApp.createSession();
  const response = await request(testApp.origin).get('/auth/logout').set('cookie', cookie).expect(405);
  expect(response.headers['allow']).toBe('POST');
  expect(response.text).toContain('You are not signed out');
  expect(await testApp.services.store.read(id)).not.toBeNull();
});
