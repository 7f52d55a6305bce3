import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import { useTestApp } from '../../support/fixtures.ts';
import { startSignIn } from '../../support/test-app.ts';

const testApp = useTestApp();

test('a sign-in sends a PKCE challenge, a fresh state and the exact redirect_uri to the service', async () => {
  const [{ address: one }, { address: two }] = [await startSignIn(testApp), await startSignIn(testApp)];
  expect(one.origin + one.pathname).toBe(`${testApp.serviceOrigin}/api/public/v1/authorization/oauth2/`);
  expect(Object.fromEntries(one.searchParams)).toEqual({
    client_id: 'demo-app',
    redirect_uri: `${testApp.origin}/auth/callback`,
    response_type: 'code',
    scope: 'room:read room:write workspace:read',
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  for (const name of ['state', 'code_challenge'])
    expect(two.searchParams.get(name)).not.toBe(one.searchParams.get(name));
});

test('the redirect_uri of a sign-in does not depend on the Host of the request', async () => {
  const response = await request(testApp.origin).get('/auth/login').set('host', 'evil.example').expect(302);
  const { searchParams } = new URL(response.headers['location'] ?? '');
  expect(searchParams.get('redirect_uri')).toBe(`${testApp.origin}/auth/callback`);
});

test('Redis keeps a sign-in transaction for ten minutes', async () => {
  const { state } = await startSignIn(testApp);
  const key = `cloakroom:signin:${createHash('sha256').update(state).digest('base64url')}`;
  expect(await testApp.redis.ttl(key)).toBeGreaterThan(590);
  expect(await testApp.redis.ttl(key)).toBeLessThanOrEqual(600);
});
