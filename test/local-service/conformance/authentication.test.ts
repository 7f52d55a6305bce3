import { expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import {
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
} from '../../support/local-service/cookie-browser.ts';
import {
  SHOWS_SIGN_IN_PAGE,
  ANY_TOKEN,
  INVALID_GRANT,
  INVALID_REQUEST,
  NEW_TOKEN,
  SHOWS_ERROR_PAGE,
  TOKENS,
  apiRefusal,
  authorizationOutcome,
  outcomeOf,
  redirectsWithError,
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
} from '../../support/local-service/requests.ts';

const { fixture, service } = useLocalService();

const post = async (fields: Fields) => outcomeOf(await service.postToken(fields));
const listWith = async (accessToken: string) => outcomeOf(await service.getApi('/workspaces', accessToken));
/** Resolves with the outcome of an otherwise valid authorization request with these parameters. */
const outcomeWith = (overrides: Fields, server = service) =>
  authorizationOutcome(server, authorizationUrl(overrides));

test('1 user-scoped tokens: a token acts only for the user who granted it', async () => {
  const [demo, guest] = [await service.newTokens(), await service.newTokens(undefined, 'guest')];
  const idsFor = async (token: string) => idsOf(await service.readPages('/workspaces', token));
  const ofGuest = await idsFor(guest.access_token);
  expect(ofGuest).toHaveLength(9);
  const together = new Set([...(await idsFor(demo.access_token)), ...ofGuest]);
  expect(together.size).toBe(137 + 9);
  const foreign = await service.getApi(`/workspaces/${ofGuest[0]}`, demo.access_token);
  expect(outcomeOf(foreign)).toEqual(apiRefusal(404, 'WORKSPACE_NOT_FOUND'));
});

test('2 app registration: the id, secret, redirect URLs (any number) and scopes must be registered', async () => {
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
    expect(outcomeOf(await custom.exchange(code, { ...app, redirect_uri }))).toEqual(TOKENS);
  }
  const valid = { ...own, redirect_uri: 'https://app.example/one' };
  for (const unregistered of [{ redirect_uri: CALLBACK }, { client_id: 'demo-app' }]) {
    expect(await outcomeWith({ ...valid, ...unregistered }, custom)).toEqual(SHOWS_ERROR_PAGE);
  }
  const refusal = { ...redirectsWithError('invalid_scope'), to: valid.redirect_uri };
  expect(await outcomeWith({ ...valid, scope: 'room:read' }, custom)).toEqual(refusal);
});

test('2 scope form: a scope is a resource with `read` or `write`, and grants only that', async () => {
  for (const scope of ['room', 'read', 'room:', ':read', 'room:delete', 'room:read:write', 'room.read']) {
    expect(await outcomeWith({ scope })).toEqual(redirectsWithError('invalid_scope'));
  }
  const all = (await service.newTokens()).access_token;
  const [id] = idsOf(await service.readPages('/workspaces', all));
  for (const [scope, workspaces, rooms] of [
    ['room:read', 200, 200],
    ['room:write', 403, 403],
    ['workspace:read', 200, 403],
  ] as const) {
    const { access_token } = await service.newTokens(scope);
    expect((await service.getApi('/workspaces', access_token)).status).toBe(workspaces);
    expect((await service.getApi(`/workspaces/${id}/rooms`, access_token)).status).toBe(rooms);
  }
});

test('2 scope separator: several scopes form one string, separated by spaces', async () => {
  for (const scope of ['room:read', 'workspace:read room:write', 'room:read room:write']) {
    expect(await outcomeWith({ scope })).toEqual(SHOWS_SIGN_IN_PAGE);
  }
  for (const separator of [',', ', ', ';', '+', '|', '\t', '\n', '']) {
    const scope = ['room:read', 'room:write'].join(separator);
    expect(await outcomeWith({ scope })).toEqual(redirectsWithError('invalid_scope'));
  }
  const { access_token } = await service.newTokens('room:write workspace:read');
  expect(await listWith(access_token)).toMatchObject({ status: 200 });
});

test('2 scope case: scopes are case-sensitive', async () => {
  const custom = await fixture.start({ scopes: ['Room:read', 'room:write'] });
  for (const scope of ['Room:read', 'room:write']) {
    expect(await outcomeWith({ scope }, custom)).toEqual(SHOWS_SIGN_IN_PAGE);
  }
  for (const scope of ['room:read', 'Room:write', 'Room:Read', 'ROOM:READ']) {
    expect(await outcomeWith({ scope }, custom)).toEqual(redirectsWithError('invalid_scope'));
  }
  const { access_token } = await custom.newTokens('Room:read');
  expect(await listWith(access_token)).toEqual(apiRefusal(403, 'INVALID_SCOPE')); // the list needs room:read
});

test('5 rule 1, code grant: OAuth 2.0 with only the Authorization Code Grant', async () => {
  expect(await outcomeWith({ response_type: 'token' })).toEqual(
    redirectsWithError('unsupported_response_type'),
  );
  for (const grant_type of ['password', 'client_credentials']) {
    const fields = codeFields(await service.newCode(), { ...DEMO, scope: 'room:read', grant_type });
    expect(await post(fields)).toEqual(tokenRefusal('unsupported_grant_type'));
  }
  expect(await post(codeFields(await service.newCode()))).toEqual(TOKENS);
});

test('5 rule 1, PKCE: a code issued with a challenge needs its verifier', async () => {
  for (const code_verifier of [undefined, '', PKCE.code_challenge, 'x'.repeat(43), 'x'.repeat(129)]) {
    const code = await service.newCode(PKCE);
    expect(await post(codeFields(code, { code_verifier }))).toEqual(INVALID_GRANT);
  }
  const withVerifier = async (code: string) => post(codeFields(code, { code_verifier: VERIFIER }));
  expect(await withVerifier(await service.newCode())).toEqual(INVALID_GRANT); // without a challenge
  expect(await withVerifier(await service.newCode(PKCE))).toEqual(TOKENS);
});

test('5 rule 2, step 1: the app redirects a new user to the authorization endpoint', async () => {
  expect(await outcomeWith({})).toEqual(SHOWS_SIGN_IN_PAGE);
});

test('5 rule 2, step 2: after sign-in and consent, the user is redirected back with the code and state', async () => {
  const [browser, url] = [openBrowser(service), authorizationUrl()];
  const signIn = await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
  expect(locationOf(signIn)).toBe(url);
  const back = new URL(locationOf(await browser.submit(url, await browser.get(url), 'allow')));
  expect(back.origin + back.pathname).toBe(CALLBACK);
  expect(Object.fromEntries(back.searchParams)).toEqual({ code: ANY_TOKEN, state: 'a state & more' });
});

test('5 rule 2, step 3: the app exchanges the code for tokens', async () => {
  const code = await service.newCode();
  expect(await listWith(code)).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  const { access_token } = tokensOf(await service.exchange(code));
  expect(await listWith(access_token)).toMatchObject({ status: 200 });
});

test('5 rule 3: after the access token has expired, the app gets a new one with the refresh token', async () => {
  const { access_token, refresh_token } = await service.newTokens();
  expect(await listWith(access_token)).toMatchObject({ status: 200 });
  fixture.clock.time += 900_000;
  expect(await listWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
  const refreshed = tokensOf(await service.refresh(refresh_token));
  expect(await listWith(refreshed.access_token)).toMatchObject({ status: 200 });
});

test('5 rule 4: each token request needs the client secret and the grant; no response contains the secret', async () => {
  const client_secret = 'in-no-response';
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
  const code = new URL(locationOf(allowed)).searchParams.get('code') ?? '';

  const send = async (form: Fields) => outcomeOf(see(await custom.postToken(form)));
  const exchange = codeFields(code, { client_secret, code_verifier: VERIFIER });
  expect(await send({ ...exchange, client_secret: undefined })).toEqual(tokenRefusal('invalid_client'));
  expect(await send({ ...exchange, code: undefined })).toEqual(INVALID_REQUEST);
  expect(await send({ ...exchange, code: client_secret })).toEqual(INVALID_GRANT);
  const tokens = tokensOf(see(await custom.postToken(exchange)));
  const refresh = refreshFields(tokens.refresh_token, { client_secret });
  expect(await send({ ...refresh, client_secret: undefined })).toEqual(tokenRefusal('invalid_client'));
  expect(await send({ ...refresh, refresh_token: undefined })).toEqual(INVALID_REQUEST);
  expect(await send(refresh)).toEqual(NEW_TOKEN);
  see(await custom.getApi('/workspaces', tokens.access_token));
  for (const { text, headers } of seen) expect(text + JSON.stringify(headers)).not.toContain(client_secret);
});

test('5 rule 5: API requests send the access token only as `Authorization: Bearer`', async () => {
  const { access_token } = await service.newTokens();
  const [id] = idsOf(await service.readPages('/workspaces', access_token));
  for (const path of ['', `/${id}`, `/${id}/rooms`, `/${id}/murals`]) {
    const inQuery = await service.getApi(`/workspaces${path}?access_token=${access_token}`);
    expect(outcomeOf(inQuery)).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
    const inOtherHeader = await service.getApi(`/workspaces${path}`).set({ 'x-access-token': access_token });
    expect(outcomeOf(inOtherHeader)).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
    await service.getApi(`/workspaces${path}`).set('authorization', `Bearer ${access_token}`).expect(200);
  }
});

test('5 rule 7: a request must match the registered redirect URLs and scopes', async () => {
  const redirectUris = [CALLBACK, 'http://localhost:3000/other'];
  const custom = await fixture.start({ redirectUris, scopes: ['room:read'] });
  for (const redirect_uri of redirectUris) {
    expect(await outcomeWith({ redirect_uri, scope: 'room:read' }, custom)).toEqual(SHOWS_SIGN_IN_PAGE);
    const refusal = { ...redirectsWithError('invalid_scope'), to: redirect_uri };
    expect(await outcomeWith({ redirect_uri, scope: 'room:read room:write' }, custom)).toEqual(refusal);
  }
  for (const redirect_uri of [redirectUris.join(','), 'http://localhost:3000/third']) {
    expect(await outcomeWith({ redirect_uri, scope: 'room:read' }, custom)).toEqual(SHOWS_ERROR_PAGE);
  }
});
