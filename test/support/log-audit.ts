import { appendFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect } from '@jest/globals';
import { parse } from 'cookie';
import { toLoggableCode } from '../../src/oauth/client.ts';

/** The folder that scripts/jest.mjs searches after all tests. Without a folder, nothing is recorded. */
const FOLDER = process.env['LOG_AUDIT_FOLDER'];
/** Shorter secrets could match ordinary words. */
const SHORTEST = 8;
const SHORTEST_SENT = 16;
/** The number of bytes searched in each chunk. Some bodies are 1 GiB, too large to search completely. */
const BODY_BYTES = 4_096;

/** The path of the test file. Read it at import, because a child process may end after the tests. */
const { testPath: TEST = 'no test' } = expect.getState();

const known = new Set<string>();

/** Records complete log lines. */
export function recordLogLines(lines: string): void {
  if (FOLDER !== undefined && lines !== '') appendFileSync(fileOf(FOLDER, 'lines'), lines);
}

/** Records a secret that must not appear in any log line. */
export function recordSecret(kind: string, value: unknown): void {
  if (FOLDER === undefined || typeof value !== 'string' || value.length < SHORTEST || known.has(value))
    return;
  known.add(value);
  appendFileSync(fileOf(FOLDER, 'secrets'), `${JSON.stringify({ kind, value })}\n`);
}

/** Records the secrets in a process's environment variables. */
export function recordSecretVariables(env: Readonly<Record<string, string | undefined>>): void {
  for (const name of ['CLIENT_SECRET', 'LOCAL_SERVICE_CLIENT_SECRET']) recordSecret(name, env[name]);
  for (const key of env['SESSION_KEYS']?.split(',') ?? []) {
    recordSecret('session key', key);
    recordSecret('session key', Buffer.from(key, 'base64url').toString('hex'));
  }
  recordSecret('Redis password', /:\/\/[^@/]*:([^@/]+)@/.exec(env['REDIS_URL'] ?? '')?.[1]);
}

/** Records the secrets that browsers exchange with Cloakroom. */
export function recordBrowserSecrets(req: IncomingMessage, res: ServerResponse): void {
  if (FOLDER === undefined) return;
  for (const value of Object.values(parse(req.headers.cookie ?? ''))) recordCookie(value);
  recordQueryValues(req.url ?? '');
  res.once('finish', () => {
    for (const cookie of [res.getHeader('set-cookie') ?? []].flat()) recordSetCookie(String(cookie));
    recordQueryValues(String(res.getHeader('location') ?? ''));
  });
}

/** Records the tokens, codes and verifiers that Cloakroom exchanges with the service. */
export function recordServiceSecrets(req: IncomingMessage, res: ServerResponse): void {
  if (FOLDER === undefined) return;
  recordSecret('access token', req.headers.authorization?.replace(/^Bearer /, ''));
  recordQueryValues(req.url ?? '');
  res.once('finish', () => recordQueryValues(String(res.getHeader('location') ?? '')));
  if (req.url?.endsWith('/oauth2/token') !== true) {
    beforeRun(req, 'emit', (name, chunk) => name === 'data' && recordBodyValues(chunk));
    return;
  }
  beforeRun(req, 'emit', (name, chunk) => name === 'data' && recordFormSecrets(String(chunk)));
  beforeRun(res, 'write', recordTokens);
  beforeRun(res, 'end', recordTokens);
}

/** Records the value of a `Set-Cookie` field. */
export function recordSetCookie(line: string): void {
  recordCookie(line.slice(line.indexOf('=') + 1).split(';', 1)[0]);
}

function recordCookie(value = ''): void {
  recordSecret('cookie', value);
  recordSecret('cookie', decodeURIComponent(value.replaceAll(/%(?![\da-f]{2})/gi, '%25')));
}

/** Records query values that look like secrets, except standard OAuth error codes. */
export function recordQueryValues(address: string): void {
  for (const [name, value] of new URLSearchParams(address.slice(address.indexOf('?') + 1))) {
    const isErrorCode = name === 'error' && toLoggableCode(value) === value;
    if (!isErrorCode && value.length >= SHORTEST_SENT && /^[\w.~-]+$/.test(value))
      recordSecret(`query: ${name}`, value);
  }
}

/** Records JSON strings and form values that look like secrets. */
function recordBodyValues(chunk: unknown): void {
  const text = (Buffer.isBuffer(chunk) ? chunk.subarray(0, BODY_BYTES) : Buffer.alloc(0)).toString('latin1');
  for (const [, value = ''] of text.matchAll(/(?::\s*"|=)([\w.~-]+)/g))
    if (value.length >= SHORTEST_SENT) recordSecret('body', value);
}

function recordFormSecrets(text: string): void {
  const form = new URLSearchParams(text);
  for (const name of ['code', 'code_verifier', 'refresh_token', 'client_secret'])
    recordSecret(name, form.get(name));
}

function recordTokens(text: unknown): void {
  for (const [, name = '', value] of String(text).matchAll(/"(access_token|refresh_token)":"([^"]+)"/g))
    recordSecret(name, value);
}

/** Calls `listener` before each call to a method, with the same arguments. */
function beforeRun<T extends string>(
  owner: Record<T, unknown> | object,
  method: T,
  listener: (...args: unknown[]) => unknown,
): void {
  const run = Reflect.get(owner, method) as (...args: unknown[]) => unknown;
  Object.assign(owner, {
    [method]: (...args: unknown[]) => {
      listener(...args);
      return run.apply(owner, args);
    },
  });
}

function fileOf(folder: string, extension: string): string {
  return join(
    folder,
    `${TEST.slice(TEST.lastIndexOf('/test/') + 1).replaceAll('/', '~')}.${process.pid}.${extension}`,
  );
}
