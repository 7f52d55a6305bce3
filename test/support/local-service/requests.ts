import { createHash } from 'node:crypto';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Response } from 'supertest';
import { CLIENT_ID, CLIENT_SECRET } from '../constants.ts';
import { exchangeBytes } from '../raw-client.ts';

/** The redirect URI that is registered by default. */
export const CALLBACK = 'http://localhost:3000/auth/callback';
const CREDENTIALS = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET };

/** Overrides that omit the credentials from a token request. */
export const NO_CREDENTIALS = { client_id: undefined, client_secret: undefined };
export const VERIFIER = 'a-verifier.with_all~the-marks-and-43-characters';
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url');
export const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };
export const FORM = 'application/x-www-form-urlencoded';

/** The fields of a form. Fields set to undefined are omitted. */
export type Fields = Readonly<Record<string, string | undefined>>;

/** A successful response from the token endpoint. */
export interface TokenResponse {
  readonly access_token: string;
  readonly expires_in: number;
  readonly refresh_token: string;
}

/** A page of a list from the API. */
export interface ListPage {
  readonly value: readonly Readonly<Record<string, unknown>>[];
  readonly next?: string;
}

/** A complete raw response. A supertest Response has the same members. */
export interface RawResponse {
  readonly status: number;
  readonly text: string;
  get(name: string): string | undefined;
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

export function originOf(server: Server): string {
  return `http://127.0.0.1:${portOf(server)}`;
}

/** Returns the tokens in a successful token response. A refresh without rotation omits the refresh token. */
export function tokensOf(res: Response): TokenResponse {
  if (res.status !== 200) throw new Error(`No tokens: ${res.status} ${res.text}`);
  return res.body as TokenResponse;
}

/** Returns the ids of all items on these pages, in order. */
export function idsOf(pages: readonly ListPage[]): string[] {
  return pages.flatMap((page) => page.value.map((item) => String(item['id'])));
}

/** Returns the form fields of a code exchange. */
export function codeFields(code: string, more: Fields = {}): Record<string, string> {
  return present({ ...CREDENTIALS, grant_type: 'authorization_code', redirect_uri: CALLBACK, code, ...more });
}

/** Returns the form fields of a refresh. */
export function refreshFields(token: string, more: Fields = {}): Record<string, string> {
  return present({ ...CREDENTIALS, grant_type: 'refresh_token', refresh_token: token, ...more });
}

function present(fields: Fields): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  );
}

/**
 * Sends the request line, headers and body unchanged. Each character of the head is a byte (Latin-1). Rejects unless a
 * complete response arrives in time.
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

/** Posts a raw body with this content type. */
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
