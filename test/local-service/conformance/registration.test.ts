import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { outcomeOf, tokenRefusal } from '../../support/local-service/answers.ts';
import { ACCEPTED, SHOWN, told, verdictOn } from '../../support/local-service/authorization-verdict.ts';
import { DEMO, authorizationUrl, openBrowser } from '../../support/local-service/cookie-browser.ts';
import { CALLBACK, openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import {
  PKCE,
  VERIFIER,
  callApi,
  codeFields,
  newCode,
  newTokens,
  postToken,
  refreshFields,
  without,
} from '../../support/local-service/token-calls.ts';
import type { TokenAnswer } from '../../support/local-service/token-calls.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

test('2 app registration: id, secret, redirect URLs (any number) and scopes are those registered', async () => {
  const app = { client_id: 'another app', client_secret: 'another secret' };
  const redirectUris = ['https://app.example/one', 'https://app.example/two'];
  const service = await bench.start({
    clientId: app.client_id,
    clientSecret: app.client_secret,
    redirectUris,
    scopes: ['mural:read'],
  });
  const own = { client_id: app.client_id, scope: 'mural:read' };
  for (const redirect_uri of redirectUris) {
    const code = await newCode(service, { ...own, redirect_uri });
    expect((await postToken(service, codeFields(code, { ...app, redirect_uri }))).status).toBe(200);
  }
  const request = { ...own, redirect_uri: 'https://app.example/one' };
  for (const unregistered of [{ redirect_uri: CALLBACK }, { client_id: 'demo-app' }]) {
    expect(await verdictOn(service, authorizationUrl({ ...request, ...unregistered }))).toEqual(SHOWN);
  }
  expect(await verdictOn(service, authorizationUrl({ ...request, scope: 'room:read' }))).toEqual({
    ...told('invalid_scope'),
    to: request.redirect_uri,
  });
});

test('2 scope form: a scope is one resource and `read` or `write`, and opens just that', async () => {
  const service = await bench.start();
  for (const scope of ['room', 'read', 'room:', ':read', 'room:delete', 'room:read:write', 'room.read']) {
    expect(await verdictOn(service, authorizationUrl({ scope }))).toEqual(told('invalid_scope'));
  }
  const statuses: Record<string, number[]> = {};
  for (const scope of ['room:read', 'room:write', 'workspace:read']) {
    const { access_token } = await newTokens(service, scope);
    const all = await newTokens(service);
    const { value } = (await callApi(service, '/workspaces?limit=1', all.access_token)).body;
    const paths = ['/workspaces', `/workspaces/${value[0].id}/rooms`];
    const answers = await Promise.all(paths.map(async (path) => callApi(service, path, access_token)));
    statuses[scope] = answers.map(({ status }) => status);
  }
  expect(statuses).toEqual({
    'room:read': [200, 200],
    'room:write': [403, 403],
    'workspace:read': [200, 403],
  });
});

test('2 scope separator: several scopes are one string with spaces between', async () => {
  const service = await bench.start();
  const verdict = (scope: string) => verdictOn(service, authorizationUrl({ scope }));
  for (const scopes of [['room:read'], ['workspace:read', 'room:write'], ['room:read', 'room:write']]) {
    expect(await verdict(scopes.join(' '))).toEqual(ACCEPTED);
  }
  for (const separator of [',', ', ', ';', '+', '|', '\t', '\n', '']) {
    expect(await verdict(['room:read', 'room:write'].join(separator))).toEqual(told('invalid_scope'));
  }
  const { access_token } = await newTokens(service, 'room:write workspace:read');
  expect((await callApi(service, '/workspaces', access_token)).status).toBe(200);
});

test('2 scope case: scopes are case-sensitive', async () => {
  const service = await bench.start({ scopes: ['Room:read', 'room:write'] });
  for (const scope of ['Room:read', 'room:write']) {
    expect(await verdictOn(service, authorizationUrl({ scope }))).toEqual(ACCEPTED);
  }
  for (const scope of ['room:read', 'Room:write', 'Room:Read', 'ROOM:READ']) {
    expect(await verdictOn(service, authorizationUrl({ scope }))).toEqual(told('invalid_scope'));
  }
  // It is another scope than the one that opens the list.
  const { access_token } = await newTokens(service, 'Room:read');
  expect((await callApi(service, '/workspaces', access_token)).status).toBe(403);
});

test('5 rule 4: each token request needs the client secret and the grant; the secret is shown to nobody', async () => {
  const client_secret = 'seen-by-nobody';
  const service = await bench.start({ clientSecret: client_secret });
  const seen: Response[] = [];
  const see = (res: Response) => {
    seen.push(res);
    return res;
  };
  const [browser, url] = [openBrowser(service), authorizationUrl(PKCE)];
  const signIn = see(await browser.get(url));
  see(await browser.submit(url, signIn, 'sign-in', DEMO));
  const allowed = see(await browser.submit(url, see(await browser.get(url)), 'allow'));
  const code = new URL(allowed.get('location') ?? '').searchParams.get('code') ?? '';

  const fields = codeFields(code, { client_secret, code_verifier: VERIFIER });
  const post = async (form: Record<string, string>) => see(await postToken(service, form));
  expect(outcomeOf(await post(without(fields, 'client_secret')))).toEqual(tokenRefusal('invalid_client'));
  expect(outcomeOf(await post(without(fields, 'code')))).toEqual(tokenRefusal('invalid_request'));
  expect(outcomeOf(await post({ ...fields, code: client_secret }))).toEqual(tokenRefusal('invalid_grant'));
  const { access_token, refresh_token } = (await post(fields)).body as TokenAnswer;
  const refresh = refreshFields(refresh_token, { client_secret });
  expect(outcomeOf(await post(without(refresh, 'client_secret')))).toEqual(tokenRefusal('invalid_client'));
  expect(outcomeOf(await post(without(refresh, 'refresh_token')))).toEqual(tokenRefusal('invalid_request'));
  expect((await post(refresh)).status).toBe(200);
  see(await callApi(service, '/workspaces', access_token));
  for (const { text, headers } of seen) expect(text + JSON.stringify(headers)).not.toContain(client_secret);
});

test('5 rule 7: redirect URLs and scopes are registered; a request must match', async () => {
  const redirectUris = [CALLBACK, 'http://localhost:3000/other'];
  const service = await bench.start({ redirectUris, scopes: ['room:read'] });
  const verdict = (redirect_uri: string, scope: string) =>
    verdictOn(service, authorizationUrl({ redirect_uri, scope }));
  for (const redirect_uri of redirectUris) {
    expect(await verdict(redirect_uri, 'room:read')).toEqual(ACCEPTED);
    expect(await verdict(redirect_uri, 'room:read room:write')).toEqual({
      ...told('invalid_scope'),
      to: redirect_uri,
    });
  }
  expect(await verdict(redirectUris.join(','), 'room:read')).toEqual(SHOWN);
  expect(await verdict('http://localhost:3000/third', 'room:read')).toEqual(SHOWN);
});
