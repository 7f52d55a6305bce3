import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import request from 'supertest';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../constants.ts';
import { authorizationUrl, openBrowser, signInAndAllow } from './cookie-browser.ts';
import { CALLBACK } from './service-under-test.ts';

const CREDENTIALS = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };

export const VERIFIER = 'a-verifier.with_all~the-marks-and-43-characters';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };

type Fields = Readonly<Record<string, string>>;

/** A token answer, whatever it is. */
export interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
}

/** Posts a form to the token endpoint. */
export function postToken(server: Server, fields: Fields): request.Test {
  return request(server).post(TOKEN_PATH).type('form').send(fields);
}

/** A code that a user has just allowed. */
export async function newCode(
  server: Server,
  overrides: Readonly<Record<string, string | undefined>> = {},
  user = 'demo',
): Promise<string> {
  const parameters = await signInAndAllow(openBrowser(server), authorizationUrl(overrides), user);
  const code = parameters.get('code');
  if (code === null) throw new Error(`No code: ${parameters.toString()}`);
  return code;
}

/** The fields that exchange a code. */
export function codeFields(code: string, more: Fields = {}): Record<string, string> {
  return { ...CREDENTIALS, grant_type: 'authorization_code', redirect_uri: CALLBACK, code, ...more };
}

/** The fields that use a refresh token. */
export function refreshFields(token: string, more: Fields = {}): Record<string, string> {
  return { ...CREDENTIALS, grant_type: 'refresh_token', refresh_token: token, ...more };
}

/** The fields but for these. */
export function without(fields: Fields, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** The tokens of a user who has just signed in. */
export async function newTokens(server: Server, scope?: string, user = 'demo'): Promise<TokenAnswer> {
  const code = await newCode(server, scope === undefined ? {} : { scope }, user);
  const res = await postToken(server, codeFields(code));
  if (res.status !== 200) throw new Error(`No tokens: ${res.text}`);
  return res.body as TokenAnswer;
}

/** Calls the API with an access token. */
export function callApi(server: Server, path: string, accessToken?: string): request.Test {
  const call = request(server).get(`/api/public/v1${path}`);
  return accessToken === undefined ? call : call.set('authorization', `Bearer ${accessToken}`);
}
