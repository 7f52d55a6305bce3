import { expect, test } from '@jest/globals';
import request, { type Response } from 'supertest';
import {
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
} from '../../support/local-service/cookie-browser.ts';
import {
  ASKS_TO_SIGN_IN,
  A_TOKEN,
  INVALID_GRANT,
  SHOWS_ERROR,
  TOKENS,
  apiRefusal,
  authorizationOutcome,
  outcomeOf,
  tellsApp,
  tokenRefusal,
} from '../../support/local-service/expectations.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import {
  CALLBACK,
  PKCE,
  VERIFIER,
  codeFields,
  idsOf,
  refreshFields,
  tokensOf,
  type Fields,
  type TokenResponse,
} from '../../support/local-service/requests.ts';

const { fixture, service } = useLocalService();

const post = async (fields: Fields) => outcomeOf(await service.postToken(fields));
const callWith = async (accessToken: string) => outcomeOf(await service.getApi('/workspaces', accessToken));

test('1 user-scoped tokens: a token acts for the one user who allowed it, and for nobody else', async () => {
  const [demo, guest] = [await service.newTokens(), await service.newTokens(undefined, 'guest')];
  const idsFor = async (token: string) => idsOf(await service.readPages('/workspaces', token));
  const ofGuest = await idsFor(guest.access_token);
  expect(ofGuest).toHaveLength(9);
  const together = new Set([...(await idsFor(demo.access_token)), ...ofGuest]);
  expect(together.size).toBe(137 + 9);
  const foreign = await service.getApi(`/workspaces/${ofGuest[0]}`, demo.access_token);
  expect(outcomeOf(foreign)).toEqual(apiRefusal(404, 'WORKSPACE_NOT_FOUND'));
});

test('5 rule 1, code grant: OAuth 2.0 with the Authorization Code Grant, and no other way in', async () => {
  const response_type = 'token';
  expect(await authorizationOutcome(service, authorizationUrl({ response_type }))).toEqual(
    tellsApp('unsupported_response_type'),
  );
  for (const grant_type of ['password', 'client_credentials']) {
    const user = { ...DEMO, scope: 'room:read' };
    const fields = codeFields(await service.newCode(), { ...user, grant_type });
    expect(await post(fields)).toEqual(tokenRefusal('unsupported_grant_type'));
  }
  expect(await post(codeFields(await service.newCode()))).toEqual(TOKENS);
});

test('5 rule 1, PKCE: PKCE is supported: a code with a challenge is worth nothing without its verifier', async () => {
  for (const code_verifier of [undefined, '', PKCE.code_challenge, 'x'.repeat(43), 'x'.repeat(129)]) {
    const code = await service.newCode(PKCE);
    expect(await post(codeFields(code, { code_verifier }))).toEqual(INVALID_GRANT);
  }
  const withoutChallenge = await service.newCode();
  expect(await post(codeFields(withoutChallenge, { code_verifier: VERIFIER }))).toEqual(INVALID_GRANT);
  const code = await service.newCode(PKCE);
  expect(await post(codeFields(code, { code_verifier: VERIFIER }))).toEqual(TOKENS);
});

test('5 rule 2, step 1: a new user comes to the authorization request by redirect', async () => {
  expect(await authorizationOutcome(service, authorizationUrl())).toEqual(ASKS_TO_SIGN_IN);
});

test('5 rule 2, step 2: having authenticated and authorized, the user goes back with code and state', async () => {
  const [browser, url] = [openBrowser(service), authorizationUrl()];
  const signIn = await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
  expect(locationOf(signIn)).toBe(url);
  const back = new URL(locationOf(await browser.submit(url, await browser.get(url), 'allow')));
  expect(back.origin + back.pathname).toBe(CALLBACK);
  expect(Object.fromEntries(back.searchParams)).toEqual({ code: A_TOKEN, state: 'a state & more' });
});

test('5 rule 2, step 3: the app exchanges the code for tokens', async () => {
  const code = await service.newCode();
  expect(await callWith(code)).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  const res = await service.exchange(code);
  expect(outcomeOf(res)).toEqual(TOKENS);
  expect(await callWith((res.body as TokenResponse).access_token)).toMatchObject({ status: 200 });
});

test('5 rule 3: once its access token has expired, the app gets a new one by the refresh token', async () => {
  const { access_token, refresh_token } = await service.newTokens();
  expect(await callWith(access_token)).toMatchObject({ status: 200 });
  fixture.clock.time += 900_000;
  expect(await callWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
  const refreshed = tokensOf(await service.refresh(refresh_token));
  expect(await callWith(refreshed.access_token)).toMatchObject({ status: 200 });
});

test('5 rule 5: API calls carry the access token as `Authorization: Bearer`, and in no other way', async () => {
  const { access_token } = await service.newTokens();
  const [id] = idsOf(await service.readPages('/workspaces', access_token));
  for (const path of ['', `/${id}`, `/${id}/rooms`, `/${id}/murals`]) {
    const url = `/api/public/v1/workspaces${path}`;
    const bare = await request(service).get(`${url}?access_token=${access_token}`);
    expect(outcomeOf(bare)).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
    const otherwise = await request(service).get(url).set({ 'x-access-token': access_token });
    expect(outcomeOf(otherwise)).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
    expect((await request(service).get(url).set('authorization', `Bearer ${access_token}`)).status).toBe(200);
  }
});

test('2 app registration: id, secret, redirect URLs (any number) and scopes are those registered', async () => {
  const app = { client_id: 'another app', client_secret: 'another secret' };
  const redirectUris = ['https://app.example/one', 'https://app.example/two'];
  const custom = await fixture.start({
    clientId: app.client_id,
    clientSecret: app.client_secret,
    redirectUris,
    scopes: ['mural:read'],
  });
  const own = { client_id: app.client_id, scope: 'mural:read' };
  for (const redirect_uri of redirectUris) {
    const code = await custom.newCode({ ...own, redirect_uri });
    expect((await custom.exchange(code, { ...app, redirect_uri })).status).toBe(200);
  }
  const valid = { ...own, redirect_uri: 'https://app.example/one' };
  for (const unregistered of [{ redirect_uri: CALLBACK }, { client_id: 'demo-app' }]) {
    expect(await authorizationOutcome(custom, authorizationUrl({ ...valid, ...unregistered }))).toEqual(
      SHOWS_ERROR,
    );
  }
  expect(await authorizationOutcome(custom, authorizationUrl({ ...valid, scope: 'room:read' }))).toEqual({
    ...tellsApp('invalid_scope'),
    to: valid.redirect_uri,
  });
});

test('2 scope form: a scope is one resource and `read` or `write`, and opens just that', async () => {
  for (const scope of ['room', 'read', 'room:', ':read', 'room:delete', 'room:read:write', 'room.read']) {
    expect(await authorizationOutcome(service, authorizationUrl({ scope }))).toEqual(
      tellsApp('invalid_scope'),
    );
  }
  const statuses: Record<string, number[]> = {};
  for (const scope of ['room:read', 'room:write', 'workspace:read']) {
    const { access_token } = await service.newTokens(scope);
    const all = await service.newTokens();
    const { value } = (await service.getApi('/workspaces?limit=1', all.access_token)).body;
    const paths = ['/workspaces', `/workspaces/${value[0].id}/rooms`];
    const responses = await Promise.all(paths.map(async (path) => service.getApi(path, access_token)));
    statuses[scope] = responses.map(({ status }) => status);
  }
  expect(statuses).toEqual({
    'room:read': [200, 200],
    'room:write': [403, 403],
    'workspace:read': [200, 403],
  });
});

test('2 scope separator: several scopes are one string with spaces between', async () => {
  const outcomeWith = (scope: string) => authorizationOutcome(service, authorizationUrl({ scope }));
  for (const scopes of [['room:read'], ['workspace:read', 'room:write'], ['room:read', 'room:write']]) {
    expect(await outcomeWith(scopes.join(' '))).toEqual(ASKS_TO_SIGN_IN);
  }
  for (const separator of [',', ', ', ';', '+', '|', '\t', '\n', '']) {
    expect(await outcomeWith(['room:read', 'room:write'].join(separator))).toEqual(tellsApp('invalid_scope'));
  }
  const { access_token } = await service.newTokens('room:write workspace:read');
  expect((await service.getApi('/workspaces', access_token)).status).toBe(200);
});

test('2 scope case: scopes are case-sensitive', async () => {
  const custom = await fixture.start({ scopes: ['Room:read', 'room:write'] });
  for (const scope of ['Room:read', 'room:write']) {
    expect(await authorizationOutcome(custom, authorizationUrl({ scope }))).toEqual(ASKS_TO_SIGN_IN);
  }
  for (const scope of ['room:read', 'Room:write', 'Room:Read', 'ROOM:READ']) {
    expect(await authorizationOutcome(custom, authorizationUrl({ scope }))).toEqual(
      tellsApp('invalid_scope'),
    );
  }
  // It is another scope than the one that opens the list.
  const { access_token } = await custom.newTokens('Room:read');
  expect((await custom.getApi('/workspaces', access_token)).status).toBe(403);
});

test('5 rule 4: each token request needs the client secret and the grant; the secret is shown to nobody', async () => {
  const client_secret = 'seen-by-nobody';
  const custom = await fixture.start({ clientSecret: client_secret });
  const seen: Response[] = [];
  const see = (res: Response) => {
    seen.push(res);
    return res;
  };
  const [browser, url] = [openBrowser(custom), authorizationUrl(PKCE)];
  const signIn = see(await browser.get(url));
  see(await browser.submit(url, signIn, 'sign-in', DEMO));
  const allowed = see(await browser.submit(url, see(await browser.get(url)), 'allow'));
  const code = new URL(allowed.get('location') ?? '').searchParams.get('code') ?? '';

  const fields = codeFields(code, { client_secret, code_verifier: VERIFIER });
  const send = async (form: Fields) => see(await custom.postToken(form));
  expect(outcomeOf(await send({ ...fields, client_secret: undefined }))).toEqual(
    tokenRefusal('invalid_client'),
  );
  expect(outcomeOf(await send({ ...fields, code: undefined }))).toEqual(tokenRefusal('invalid_request'));
  expect(outcomeOf(await send({ ...fields, code: client_secret }))).toEqual(tokenRefusal('invalid_grant'));
  const { access_token, refresh_token } = tokensOf(await send(fields));
  const refresh = refreshFields(refresh_token, { client_secret });
  expect(outcomeOf(await send({ ...refresh, client_secret: undefined }))).toEqual(
    tokenRefusal('invalid_client'),
  );
  expect(outcomeOf(await send({ ...refresh, refresh_token: undefined }))).toEqual(
    tokenRefusal('invalid_request'),
  );
  expect((await send(refresh)).status).toBe(200);
  see(await custom.getApi('/workspaces', access_token));
  for (const { text, headers } of seen) expect(text + JSON.stringify(headers)).not.toContain(client_secret);
});

test('5 rule 7: redirect URLs and scopes are registered; a request must match', async () => {
  const redirectUris = [CALLBACK, 'http://localhost:3000/other'];
  const custom = await fixture.start({ redirectUris, scopes: ['room:read'] });
  const outcomeWith = (redirect_uri: string, scope: string) =>
    authorizationOutcome(custom, authorizationUrl({ redirect_uri, scope }));
  for (const redirect_uri of redirectUris) {
    expect(await outcomeWith(redirect_uri, 'room:read')).toEqual(ASKS_TO_SIGN_IN);
    expect(await outcomeWith(redirect_uri, 'room:read room:write')).toEqual({
      ...tellsApp('invalid_scope'),
      to: redirect_uri,
    });
  }
  expect(await outcomeWith(redirectUris.join(','), 'room:read')).toEqual(SHOWS_ERROR);
  expect(await outcomeWith('http://localhost:3000/third', 'room:read')).toEqual(SHOWS_ERROR);
});
