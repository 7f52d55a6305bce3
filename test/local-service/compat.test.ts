import type { Server } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { authorizationUrl, openBrowser, signInAndAllow } from '../support/local-service/cookie-browser.ts';
import { startServiceFixture } from '../support/local-service/fixture.ts';
import { NO_CREDENTIALS, codeFields, refreshFields } from '../support/local-service/requests.ts';

const fixture = useFixture(startServiceFixture);
const OAUTH = '/api/public/v1/authorization/oauth2';
const TOKENS = { access_token: expect.any(String), expires_in: 900, refresh_token: expect.any(String) };

const compat = useFixture(async () => fixture.start({ compat: true }));
const strict = useFixture(async () => fixture.start());

const postJson = (body: object | string, path = TOKEN_PATH) =>
  request(compat).post(path).type('json').send(body);

async function withoutCredentials(more: Record<string, string> = {}): Promise<Record<string, string>> {
  return codeFields(await compat.newCode(), { ...NO_CREDENTIALS, ...more });
}

test('what the interface asks for is taken as before', async () => {
  expect(await compat.newTokens()).toEqual(TOKENS);
});

describe('other paths', () => {
  test.each(['token/', 'refresh', 'refresh/'])(
    'a token request is taken at %s, and only here',
    async (path) => {
      const { refresh_token } = await compat.newTokens();
      const post = (server: Server) =>
        request(server).post(`${OAUTH}/${path}`).type('form').send(refreshFields(refresh_token));
      expect((await post(compat)).status).toBe(200);
      expect((await post(strict)).status).toBe(404);
    },
  );

  test('the authorization address works without its slash all the way to the code', async () => {
    const url = authorizationUrl().replace('oauth2/?', 'oauth2?');
    const parameters = await signInAndAllow(openBrowser(compat), url);
    const res = await compat.exchange(parameters.get('code') ?? '');
    expect(res.status).toBe(200);
    expect((await request(strict).get(url)).status).toBe(404);
  });

  test('nothing else below them is taken', async () => {
    for (const path of ['token//', 'refresh//', 'refresh/x', 'Token/', 'authorize']) {
      expect((await request(compat).post(`${OAUTH}/${path}`)).status).toBe(404);
    }
  });
});

describe('a JSON body', () => {
  test('is taken as the form of the same fields', async () => {
    const res = await postJson({
      ...codeFields(await compat.newCode()),
      scope: ['ignored'],
      extra: { a: 1 },
    });
    expect(res.body).toEqual(TOKENS);
  });

  const malformed: [string, object | string][] = [
    ['an array', []],
    ['with a number for a string', { ...codeFields('a-code'), code: 5 }],
  ];
  test.each(malformed)('%s is invalid_request', async (_name, body) => {
    const res = await postJson(body);
    expect({ status: res.status, error: (res.body as { error?: string }).error }).toEqual({
      status: 400,
      error: 'invalid_request',
    });
  });

  test('takes null for a field that is not there', async () => {
    const { refresh_token } = await compat.newTokens();
    expect((await postJson({ ...refreshFields(refresh_token), redirect_uri: null })).status).toBe(200);
    expect((await postJson({ ...refreshFields(refresh_token), refresh_token: null })).body).toMatchObject({
      error: 'invalid_request',
    });
  });
});

describe('HTTP Basic', () => {
  test('carries the credentials in place of the body', async () => {
    const res = await compat.postToken(await withoutCredentials()).auth(CLIENT_ID, CLIENT_SECRET);
    expect(res.body).toEqual(TOKENS);
  });

  test.each([
    ['another client_id', { client_id: 'other-app' }],
    ['another secret', { client_secret: 'other-secret' }],
  ])('with %s in the body is invalid_request', async (_name, more) => {
    const res = await compat.postToken(await withoutCredentials(more)).auth(CLIENT_ID, CLIENT_SECRET);
    expect(res.status).toBe(400);
    expect(res.body).toMatchObject({ error: 'invalid_request' });
  });

  test('may come with the same credentials in the body, or with empty ones', async () => {
    for (const client_secret of [CLIENT_SECRET, '']) {
      const fields = await withoutCredentials({ client_id: client_secret && CLIENT_ID, client_secret });
      expect((await compat.postToken(fields).auth(CLIENT_ID, CLIENT_SECRET)).status).toBe(200);
    }
  });

  const odd = { clientId: 'odd app:1', clientSecret: 'a+b%20c:d/~' };
  test.each([
    ['encoded as RFC 6749 asks', (text: string) => encodeURIComponent(text).replaceAll('%20', '+')],
    ['with spaces as %20', encodeURIComponent],
  ])('id and secret may be %s', async (_name, encode) => {
    const service = await fixture.start({ compat: true, ...odd });
    const code = await service.newCode({ client_id: odd.clientId });
    const fields = codeFields(code, NO_CREDENTIALS);
    const res = await service.postToken(fields).auth(encode(odd.clientId), encode(odd.clientSecret));
    expect(res.status).toBe(200);
  });

  test('a secret may be sent as it is', async () => {
    const service = await fixture.start({ compat: true, clientSecret: odd.clientSecret });
    const fields = codeFields(await service.newCode(), NO_CREDENTIALS);
    expect((await service.postToken(fields).auth(CLIENT_ID, odd.clientSecret)).status).toBe(200);
  });

  test.each([
    ['a wrong secret', 'Basic ZGVtby1hcHA6d3Jvbmc='],
    ['broken percent-encoding', `Basic ${Buffer.from('%zz:%').toString('base64')}`],
    ['another scheme', 'Bearer abc'],
  ])('with %s is invalid_client, and says what is taken', async (_name, header) => {
    const res = await compat.postToken(await withoutCredentials()).set('authorization', header);
    expect(res.status).toBe(401);
    expect(res.body).toMatchObject({ error: 'invalid_client' });
    expect(res.get('www-authenticate')).toMatch(/^Basic /);
  });
});

test('the front page says that it is outside the interface, where it is on', async () => {
  expect((await request(compat).get('/')).text).toContain('more than the interface');
  expect((await request(strict).get('/')).text).not.toContain('ompatibility');
});

test('a rule of the interface is loosened by none of it', async () => {
  const twice = `${new URLSearchParams(codeFields('a-code')).toString()}&code=another`;
  expect((await request(compat).post(TOKEN_PATH).type('form').send(twice)).body).toMatchObject({
    error: 'invalid_request',
  });
  const code = await compat.newCode();
  const wrongPlace = codeFields(code, { redirect_uri: 'http://localhost:3000/other' });
  expect((await postJson(wrongPlace)).body).toMatchObject({ error: 'invalid_grant' });
});
