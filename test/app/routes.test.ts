import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestApp } from '../support/test-app.ts';
import type { TestApp } from '../support/test-app.ts';
import { sendRaw } from '../support/raw.ts';

let testApp: TestApp;
let cookie: string;
beforeAll(async () => {
  testApp = await startTestApp();
  ({ cookie } = await testApp.enter());
});
afterAll(async () => testApp[Symbol.asyncDispose]());

/** Sends a target as it is written, with a session: its status, and where it leads. */
async function ask(
  target: string,
  method = 'GET',
  as = cookie,
): Promise<{ status: number; location: string | null }> {
  const fields = ['Host: x', `Cookie: ${as}`, 'Sec-Fetch-Site: same-origin', 'Connection: close'];
  const answer = await sendRaw(testApp, [`${method} ${target} HTTP/1.1`, ...fields, '', ''].join('\r\n'));
  const location = /^location: (.*)\r$/im.exec(answer.split('\r\n\r\n', 1)[0] ?? '')?.[1] ?? null;
  return { status: Number(answer.slice(9, 12)), location };
}

const encoded = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`;

/** What somebody may write who wants to get past a rule for that path: some proxy or framework takes each for the same. */
const otherSpellings = (path: string): string[] =>
  [
    ...['/', '//', '/?a=b', '/.', '%2f', '%3f', ';x=y', '%20', '%00', '.'].map((end) => path + end),
    ...['/', '/.', '/x/..', '/workspaces/..'].map((start) => start + path),
    path.replace(/\w/, encoded),
    path.replace(/\w$/, encoded),
    path.replace(/(?<=\w)\//, '%2f'),
    path.replace(/(?<=\w)\//, '\\'),
    path.toUpperCase(),
  ].filter((spelling) => spelling !== path);

describe.each(['/auth/login', '/auth/callback', '/auth/session', '/healthz', '/readyz', '/openapi.json'])(
  '%s',
  (path) => {
    test('is written like that, with any query', async () => {
      for (const query of ['', '?', '?a=/..%2f/'])
        expect(await ask(path + query)).not.toMatchObject({ status: 404 });
    });

    test.each(otherSpellings(path))('is not %s', async (target) => {
      expect(await ask(target)).toEqual({ status: 404, location: null });
    });

    test.each([
      `${path}#`,
      `${path}#x`,
      `${path}?a#/`,
      `http://x${path}`,
      `http://u:p@x${path}`,
      `x:${path}`,
    ])('is not %s, which is no path', async (target) => {
      expect(await ask(target)).toEqual({ status: 400, location: null });
    });
  },
);

test('a sign-out has one address, too', async () => {
  const own = (await testApp.enter()).cookie;
  for (const target of otherSpellings('/auth/logout'))
    expect(await ask(target, 'POST', own)).toEqual({ status: 404, location: null });
  expect(await ask('/console', 'GET', own)).toMatchObject({ status: 200 });
  expect(await ask('/auth/logout', 'POST', own)).toEqual({ status: 303, location: '/' });
});

test.each([
  ['/workspaces/', '/workspaces'],
  ['/workspaces/?limit=5&find=a/', '/workspaces?limit=5&find=a/'],
  ['/workspaces/alpha/rooms/', '/workspaces/alpha/rooms'],
  ['/console/', '/console'],
  ['/console/guide/', '/console/guide'],
])('the page %s is at %s', async (target, location) => {
  for (const method of ['GET', 'HEAD']) expect(await ask(target, method)).toEqual({ status: 308, location });
});

test.each([
  ['GET', '//'],
  ['GET', '//other.example/'],
  ['GET', '//other.example/workspaces/'],
  ['GET', '/\\other.example/'],
  ['GET', '/workspaces//'],
  ['GET', '/assets/cloakroom.css/'],
  ['POST', '/workspaces/'],
])('there is no page for %s %s', async (method, target) => {
  expect(await ask(target, method)).toEqual({ status: 404, location: null });
});

test('what asks of the server as a whole finds no page', async () => {
  expect(await ask('*', 'OPTIONS')).toEqual({ status: 404, location: null });
});
