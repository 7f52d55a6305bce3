import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import request from 'supertest';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../constants.ts';
import { exchangeBytes } from '../raw.ts';
import { authorizationUrl, openBrowser, signInAndAllow } from './cookie-browser.ts';
import { CALLBACK, portOf } from './fixture.ts';

const CREDENTIALS = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };

export const VERIFIER = 'a-verifier.with_all~the-marks-and-43-characters';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };
export const FORM = 'application/x-www-form-urlencoded';

export type Fields = Readonly<Record<string, string>>;

/** A successful response of the token endpoint. */
export interface TokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
}

/** A page of any list. */
export interface ListPage {
  readonly value: readonly Readonly<Record<string, unknown>>[];
  readonly next?: string;
}

/** A whole response as it came; a supertest Response has the same members. */
export interface RawResponse {
  readonly status: number;
  readonly text: string;
  get(name: string): string | undefined;
}

const MOST_PAGES = 500;

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

/** The tokens of a user who has just signed in. */
export async function newTokens(server: Server, scope?: string, user = 'demo'): Promise<TokenResponse> {
  const code = await newCode(server, scope === undefined ? {} : { scope }, user);
  const res = await postToken(server, codeFields(code));
  if (res.status !== 200) throw new Error(`No tokens: ${res.text}`);
  return res.body as TokenResponse;
}

/** The fields that exchange a code. */
export function codeFields(code: string, more: Fields = {}): Record<string, string> {
  return { ...CREDENTIALS, grant_type: 'authorization_code', redirect_uri: CALLBACK, code, ...more };
}

/** The fields that use a refresh token. */
export function refreshFields(token: string, more: Fields = {}): Record<string, string> {
  return { ...CREDENTIALS, grant_type: 'refresh_token', refresh_token: token, ...more };
}

/** All fields but these. */
export function without(fields: Fields, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Requests a path of the API with an access token. */
export function getApi(server: Server, path: string, accessToken?: string): request.Test {
  const test = request(server).get(`/api/public/v1${path}`);
  return accessToken === undefined ? test : test.set('authorization', `Bearer ${accessToken}`);
}

/** Reads a list from the first page to the last, each requested as the interface says. */
export async function readPages(
  server: Server,
  path: string,
  accessToken: string,
  limit?: number,
): Promise<ListPage[]> {
  const pages: ListPage[] = [];
  const query = new URLSearchParams(limit === undefined ? {} : { limit: String(limit) });
  while (pages.length < MOST_PAGES) {
    const res = await getApi(server, `${path}?${query.toString()}`, accessToken);
    if (res.status !== 200) throw new Error(`Page ${pages.length + 1}: ${res.status} ${res.text}`);
    const page = res.body as ListPage;
    pages.push(page);
    if (page.next === undefined) return pages;
    query.set('next', page.next);
  }
  throw new Error('The list has no end.');
}

/** The ids of all items on these pages, in order. */
export function idsOf(pages: readonly ListPage[]): string[] {
  return pages.flatMap((page) => page.value.map((item) => String(item['id'])));
}

/**
 * Sends request line, headers and body as they are; each character of the head is a byte (Latin-1). Rejects without a
 * whole response in time.
 */
export async function requestRaw(
  server: Server,
  requestLine: string,
  headers: readonly string[] = [],
  body: Uint8Array = new Uint8Array(),
): Promise<RawResponse> {
  const head = [`${requestLine} HTTP/1.1`, 'host: service.test', 'connection: close', ...headers, '', ''];
  const bytes = Buffer.concat([Buffer.from(head.join('\r\n'), 'latin1'), body]);
  return parseResponse(await exchangeBytes(portOf(server), bytes));
}

/** Posts a body of this type as it is. */
export function postRaw(
  server: Server,
  path: string,
  body: Uint8Array,
  type = FORM,
  ...headers: readonly string[]
): Promise<RawResponse> {
  const lines = [`content-type: ${type}`, `content-length: ${body.length}`, ...headers];
  return requestRaw(server, `POST ${path}`, lines, body);
}

function parseResponse(bytes: Buffer): RawResponse {
  const end = bytes.indexOf('\r\n\r\n');
  const [status = '', ...lines] = bytes.subarray(0, Math.max(end, 0)).toString('latin1').split('\r\n');
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const body = bytes.subarray(end + 4);
  if (!/^HTTP\/1\.1 \d{3} /.test(status) || headers.get('content-length') !== String(body.length)) {
    throw new Error(`The response was cut off or has no length: ${bytes.toString('latin1')}`);
  }
  return {
    status: Number(status.slice(9, 12)),
    text: body.toString('utf8'),
    get: (name) => headers.get(name.toLowerCase()),
  };
}
