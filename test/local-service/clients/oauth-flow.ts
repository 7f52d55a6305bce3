import type { Server } from 'node:http';
import { expect } from '@jest/globals';
import { loadLocalServiceConfig } from '../../../src/local-service/config.ts';
import { Browser } from '../../support/browser.ts';
import type { ServiceFixture } from '../../support/local-service/fixture.ts';
import { CALLBACK, originOf, type ListPage } from '../../support/local-service/requests.ts';

const { accessTokenSeconds, clientId, clientSecret, scopes, workspaces } = loadLocalServiceConfig({});

/** The app that is registered with the service under test. */
export const APP = { id: clientId, secret: clientSecret, callback: CALLBACK, scope: scopes.join(' ') };

/** Returns the URLs in section 4 of the interface. */
export function endpointUrls(server: Server) {
  const origin = originOf(server);
  const api = `${origin}/api/public/v1`;
  const oauth = `${api}/authorization/oauth2`;
  return { origin, authorize: `${oauth}/`, token: `${oauth}/token`, workspaces: `${api}/workspaces` };
}

/** A response from the API. */
export interface ApiResponse {
  readonly status: number;
  readonly body?: unknown;
}

/** A third-party library that holds the tokens of one user. */
export interface OAuthClient {
  authorizationUrl(): Promise<string>;
  /** Checks the state in the callback URL and exchanges the code. */
  handleCallback(callback: URL): Promise<void>;
  /** Sends an API request with the user's access token. */
  get(url: string): Promise<ApiResponse>;
  /** Gets a new access token with the user's refresh token. */
  refresh(): Promise<void>;
}

/** Signs in at the authorization URL and grants the app access. Resolves with the callback URL. */
export async function authorizeApp(authorizationUrl: string): Promise<URL> {
  const browser = new Browser();
  const page = await browser.open(authorizationUrl);
  const signedIn = await browser.press(page, 'Sign in', { username: 'demo', password: 'demo' });
  const allowed = await browser.press(await browser.follow(signedIn), 'Allow');
  return new URL(allowed.headers.get('location') ?? '');
}

/** Signs in with a browser, so that the client receives its tokens. */
export async function signIn(client: OAuthClient): Promise<void> {
  await client.handleCallback(await authorizeApp(await client.authorizationUrl()));
}

/**
 * Checks that the client can sign in and read every page of a list, then twice refresh an expired token and read the list
 * again. The first refresh response has no refresh token, so the second refresh fails if the client has dropped the original
 * token.
 */
export async function expectOAuthFlow(
  client: OAuthClient,
  fixture: ServiceFixture,
  server: Server,
): Promise<void> {
  const list = endpointUrls(server).workspaces;
  await signIn(client);
  await expectAllWorkspaces(client, list);
  for (const _ of ['first', 'second']) {
    fixture.clock.time += accessTokenSeconds * 1_000;
    expect((await client.get(list)).status).toBe(401);
    await client.refresh();
    await expectAllWorkspaces(client, list);
  }
}

async function expectAllWorkspaces(client: OAuthClient, list: string): Promise<void> {
  const ids: unknown[] = [];
  const query = new URLSearchParams({ limit: '50' });
  for (let page = 1; page <= 3; page += 1) {
    const { status, body } = await client.get(`${list}?${query.toString()}`);
    expect(status).toBe(200);
    const { value, next } = body as ListPage;
    ids.push(...value.map((item) => item['id']));
    if (next === undefined) break;
    query.set('next', next);
  }
  expect(ids).toHaveLength(workspaces);
  expect(new Set(ids).size).toBe(workspaces);
}

/** Sends an API request for a client library that does not send API requests itself. */
export async function getWith(accessToken: string, url: string): Promise<ApiResponse> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${accessToken}` } });
  return { status: response.status, body: await response.json() };
}
