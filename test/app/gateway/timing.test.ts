import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { API_PATH as PATH } from '../../support/constants.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import { valuesOf } from '../../support/raw-message.ts';
import { ok } from '../../support/raw-service.ts';

// What `Server-Timing` tells of a call, beside its times (docs/api.md).

const REFUSED = 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n';
const UNAVAILABLE = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';
const USUAL = /^session;dur=[\d.]+, token;dur=[\d.]+, service;dur=[\d.]+$/;

/** What the service answers to a token that it gave out before, and at its token endpoint. */
let answers: { toOldToken: string; atTokenEndpoint: string };

let raw: RawApp;
beforeAll(async () => {
  raw = await startRawApp();
  raw.service.answer = (request) => {
    if (request.start.includes('/oauth2/token')) return answers.atTokenEndpoint;
    return valuesOf(request, 'authorization')[0] === 'Bearer a-living-token'
      ? answers.toOldToken
      : ok('done');
  };
});
afterAll(async () => raw[Symbol.asyncDispose]());
beforeEach(async () => {
  answers = {
    toOldToken: REFUSED,
    atTokenEndpoint: ok('{"access_token":"a-new-token","expires_in":900}'),
  };
  await raw.enter();
});

/** Its times left out. */
async function told(method = 'GET', body = ''): Promise<string> {
  const framing = body === '' ? [] : [`Content-Length: ${body.length}`];
  const { fields } = await raw.send(`${method} ${PATH}`, framing, body);
  return (valuesOf({ fields }, 'server-timing')[0] ?? '').replaceAll(/dur=[\d.]+/g, 'dur');
}

test('A usual call has its times and nothing else', async () => {
  answers.toOldToken = ok('done');
  const { fields } = await raw.send(`GET ${PATH}`);
  expect(valuesOf({ fields }, 'server-timing')).toEqual([expect.stringMatching(USUAL)]);
});

test('A call whose token was spent says that it was renewed', async () => {
  await raw.enter({ expiresAt: 0 });
  expect(await told()).toBe('session;dur, token;dur;desc=refreshed, service;dur');
});

test('A call that was repeated with a new token says so', async () => {
  expect(await told()).toBe('session;dur, token;dur;desc=refreshed, service;dur;desc=replayed');
});

test('A call whose body was too large to be repeated says only that the token was renewed', async () => {
  expect(await told('POST', 'x'.repeat(70_000))).toBe('session;dur, token;dur;desc=refreshed, service;dur');
});

test('A call whose token could not be renewed says neither', async () => {
  answers.atTokenEndpoint = UNAVAILABLE;
  expect(await told()).toBe('session;dur, token;dur, service;dur');
});
