import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { authorizationUrl, openBrowser, signInAndAllow } from '../support/local-service/cookie-browser.ts';
import {
  INVALID_GRANT,
  INVALID_REQUEST,
  NEW_TOKEN,
  TOKENS,
  outcomeOf,
} from '../support/local-service/expectations.ts';
import { useLocalService, type LocalService } from '../support/local-service/fixture.ts';
import { NO_CREDENTIALS, codeFields, refreshFields, type Fields } from '../support/local-service/requests.ts';

const OAUTH = '/api/public/v1/authorization/oauth2';

const { fixture, service: strict } = useLocalService();
const compat = useFixture(async () => fixture.start({ compat: true }));

const postJson = (body: object) => request(compat).post(TOKEN_PATH).type('json').send(body);

const newExchange = async (more: Fields = {}): Promise<Fields> =>
  codeFields(await compat.newCode(), { ...NO_CREDENTIALS, ...more });

test.each(['token/', 'refresh', 'refresh/'])('only compatibility mode supports %s', async (path) => {
  const { refresh_token } = await compat.newTokens();
  const post = (server: LocalService) =>
    request(server).post(`${OAUTH}/${path}`).type('form').send(refreshFields(refresh_token));
  expect(outcomeOf(await post(compat))).toEqual(NEW_TOKEN);
  expect((await post(strict)).status).toBe(404);
});

test('only compatibility mode accepts the authorization endpoint without its trailing slash', async () => {
  const url = authorizationUrl().replace('oauth2/?', 'oauth2?');
  const parameters = await signInAndAllow(openBrowser(compat), url);
  expect(outcomeOf(await compat.exchange(parameters.get('code') ?? ''))).toEqual(TOKENS);
  expect((await request(strict).get(url)).status).toBe(404);
});

test('compatibility mode refuses unknown paths under the endpoints', async () => {
  for (const path of ['token//', 'refresh//', 'refresh/x', 'Token/', 'authorize']) {
    expect((await request(compat).post(`${OAUTH}/${path}`)).status).toBe(404);
  }
});

test('in compatibility mode, null in a JSON body is treated as a missing field', async () => {
  const valid = refreshFields((await compat.newTokens()).refresh_token);
  expect(outcomeOf(await postJson({ ...valid, redirect_uri: null }))).toEqual(NEW_TOKEN);
  expect(outcomeOf(await postJson({ ...valid, refresh_token: null }))).toEqual(INVALID_REQUEST);
});

describe('HTTP Basic in compatibility mode', () => {
  test.each([
    ['is accepted without credentials in the body', {}, TOKENS],
    [
      'is accepted with the same credentials in the body',
      { client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
      TOKENS,
    ],
    ['is accepted with empty credentials in the body', { client_id: '', client_secret: '' }, TOKENS],
    ['is refused with a different client_id in the body', { client_id: 'other-app' }, INVALID_REQUEST],
    ['is refused with a different secret in the body', { client_secret: 'other-secret' }, INVALID_REQUEST],
  ])('HTTP Basic %s', async (_name, more, outcome) => {
    const res = await compat.postToken(await newExchange(more)).auth(CLIENT_ID, CLIENT_SECRET);
    expect(outcomeOf(res)).toEqual(outcome);
  });

  test.each([
    [
      'encoded as in RFC 6749',
      'odd app:1',
      (text: string) => encodeURIComponent(text).replaceAll('%20', '+'),
    ],
    ['encoded with %20 for spaces', 'odd app:1', encodeURIComponent],
    ['not encoded', 'odd app', (text: string) => text],
  ])('HTTP Basic is accepted with the id and secret %s', async (_name, clientId, encode) => {
    const clientSecret = 'a+b%20c:d/~';
    const service = await fixture.start({ compat: true, clientId, clientSecret });
    const code = await service.newCode({ client_id: clientId });
    const res = await service.exchange(code, NO_CREDENTIALS).auth(encode(clientId), encode(clientSecret));
    expect(outcomeOf(res)).toEqual(TOKENS);
  });
});

test('the front page mentions compatibility mode only if it is on', async () => {
  expect((await request(compat).get('/')).text).toContain('requests that its interface does not allow');
  expect((await request(strict).get('/')).text).not.toContain('ompatibility');
});

test('compatibility mode does not relax the rules of the interface', async () => {
  const twice = `${new URLSearchParams(codeFields('a-code')).toString()}&code=another`;
  expect(outcomeOf(await request(compat).post(TOKEN_PATH).type('form').send(twice))).toEqual(INVALID_REQUEST);
  const wrong = codeFields(await compat.newCode(), { redirect_uri: 'http://localhost:3000/other' });
  expect(outcomeOf(await postJson(wrong))).toEqual(INVALID_GRANT);
});
