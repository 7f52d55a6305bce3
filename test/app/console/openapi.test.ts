import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { GATEWAY_PROBLEMS } from '../../../public/console/gateway-problems.js';
import { ROOT } from '../../support/constants.ts';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { documentedProblems, openapi, routes } from '../../unit/console/openapi-document.ts';

/** `status code`, of each problem that a room's source names. */
function problemsIn(room: string): string[] {
  const files = readdirSync(join(ROOT, 'src', room), { recursive: room !== '', encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts'),
  );
  const found = files.flatMap((name) => {
    const source = readFileSync(join(ROOT, 'src', room, name), 'utf8');
    const named = source.matchAll(/\b([45]\d\d),\s*(?:\w+ \? '([a-z_]+)' : )?'([a-z_]+)',/g);
    return [...named].flatMap(([, status, first, second]) =>
      [first, second].filter((code) => code !== undefined).map((code) => `${status} ${code}`),
    );
  });
  return [...new Set(found)].toSorted();
}

describe('the codes', () => {
  test('of the source are all in openapi.json', () => {
    const ours = ['', 'gateway', 'http', 'session', 'oauth', 'workspaces'].flatMap(problemsIn);
    expect(ours.length).toBeGreaterThan(20);
    expect(documentedProblems()).toEqual(expect.arrayContaining(ours));
  });

  test('in openapi.json are all in the source', () => {
    const ours = new Set(['', 'gateway', 'http', 'session', 'oauth', 'workspaces'].flatMap(problemsIn));
    expect(documentedProblems().filter((problem) => !ours.has(problem))).toEqual([]);
  });

  test('of the gateway have their status and advice, in docs/api.md in the same words', () => {
    const text = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `([a-z_]+)` +\| (\d{3}) +\| (.+?) +\|$/gm)];
    const documented = rows.map(([, code = '', status, advice = '']) => [
      code,
      { status: Number(status), advice: advice.replaceAll('`', '') },
    ]);
    expect(Object.fromEntries(documented)).toEqual(GATEWAY_PROBLEMS);
    const listed = Object.entries(GATEWAY_PROBLEMS).map(([code, { status }]) => `${status} ${code}`);
    expect(documentedProblems()).toEqual(expect.arrayContaining(listed));
    expect(listed).toEqual(expect.arrayContaining(problemsIn('gateway')));
  });
});

test('It has the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect(openapi.info.version).toBe(version);
});

describe('over the wire', () => {
  let testApp: TestApp;
  let cookie: string;
  beforeAll(async () => {
    testApp = await startTestApp();
  });
  beforeEach(async () => {
    ({ cookie } = await testApp.enter());
  });
  afterAll(async () => testApp[Symbol.asyncDispose]());

  test('/openapi.json is the file, for everyone, and may be kept for a while', async () => {
    const answer = await request(testApp.origin).get('/openapi.json').expect(200);
    expect(answer.body).toEqual(openapi);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('public, max-age=300');
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  const written = routes()
    // Sign-out last: the others need the session.
    .toSorted((one, other) => Number(one.path === '/auth/logout') - Number(other.path === '/auth/logout'));

  const ask = async (method: string, path: string, sent: string) => {
    const headers = { 'x-requested-with': 'a test', ...(sent !== '' && { cookie: sent }) };
    const answer = await fetch(testApp.origin + fill(path), { method, redirect: 'manual', headers });
    await answer.arrayBuffer();
    return answer;
  };

  test.each(['without a session', 'with a session'])('every route answers as it says: %s', async (how) => {
    const surprises: string[] = [];
    for (const { path, method, statuses, needsSession } of written) {
      const { status, headers } = await ask(method, path, how === 'with a session' ? cookie : '');
      const isService = statuses.includes('default') && headers.has('via');
      if (!isService && !statuses.includes(String(status))) surprises.push(`${method} ${path}: ${status}`);
      const isRefused = status === 303 || status === 401;
      if (how === 'without a session' && needsSession && !isRefused)
        surprises.push(`${method} ${path} is open`);
    }
    expect(surprises).toEqual([]);
  });
});

function fill(path: string): string {
  return path.replace('{path}', 'public/v1/workspaces').replace('{id}', 'one').replace('{kind}', 'rooms');
}
