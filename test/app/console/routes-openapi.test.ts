import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createConfig, lint } from '@redocly/openapi-core';
import request from 'supertest';
import { ADVICE } from '../../../src/console/problem-advice.ts';
import { GATEWAY_PROBLEMS, PROBLEMS } from '../../../src/errors.ts';
import { ROOT } from '../../support/constants.ts';
import { documentedProblems, openapi, routes } from '../../unit/console/openapi-document.ts';
import { useTestApp } from '../../support/fixtures.ts';

/** Returns the code, status and advice from each row of the table in docs/api.md. */
function problemsInDocs() {
  const text = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
  const rows = text.matchAll(/^\| `([a-z_]+)` +\| (\d{3}) +\| (.+?) +\|$/gm);
  return [...rows].map(([, code, status, advice]) => `${code} ${status} ${advice}`.replaceAll('`', ''));
}

describe('the problem table', () => {
  test('has the same codes and statuses as openapi.json', () => {
    const problems = Object.entries(PROBLEMS).map(([code, { status }]) => `${status} ${code}`);
    expect(documentedProblems()).toEqual(problems.toSorted());
  });

  test('matches the codes, statuses and advice in docs/api.md and the console', () => {
    const problems = Object.entries(GATEWAY_PROBLEMS).map(
      ([code, { status }]) => `${code} ${status} ${ADVICE[code]}`,
    );
    expect(problemsInDocs().toSorted()).toEqual(problems.toSorted());
    expect(Object.keys(ADVICE)).toHaveLength(problems.length);
  });
});

/** Sign-in always responds with a redirect. */
const NO_2XX = '#/paths/~1auth~1login/get/responses';

test('openapi.json passes the linter', async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const ref = fileURLToPath(new URL('../../../public/openapi.json', import.meta.url));
  const problems = await lint({ ref, config });
  const found = problems.map(({ ruleId, message, location }) => [ruleId, location[0]?.pointer, message]);
  expect(found).toEqual([['operation-2xx-response', NO_2XX, expect.any(String)]]);
});

test('openapi.json has the same version as package.json', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect(openapi.info.version).toBe(version);
});

describe('a running app', () => {
  const testApp = useTestApp();
  let cookie: string;
  beforeEach(async () => {
    ({ cookie } = await testApp.createSession());
  });

  test('serves /openapi.json publicly, with a cache lifetime of five minutes', async () => {
    const response = await request(testApp.origin).get('/openapi.json').expect(200);
    expect(response.body).toEqual(openapi);
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(response.headers['cache-control']).toBe('public, max-age=300');
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  // Sign-out comes last, because it ends the session that the other routes need.
  const documented = routes().toSorted(
    (one, other) => Number(one.path === '/auth/logout') - Number(other.path === '/auth/logout'),
  );

  const send = async (method: string, path: string, cookies: string) => {
    const headers = { 'x-requested-with': 'a test', ...(cookies !== '' && { cookie: cookies }) };
    const response = await fetch(testApp.origin + fill(path), { method, redirect: 'manual', headers });
    await response.arrayBuffer();
    return response;
  };

  test.each(['without a session', 'with a session'])('responds as documented (%s)', async (how) => {
    const unexpected: string[] = [];
    for (const { path, method, statuses, needsSession } of documented) {
      const { status, headers } = await send(method, path, how === 'with a session' ? cookie : '');
      const isService = statuses.includes('default') && headers.has('via');
      if (!isService && !statuses.includes(String(status))) unexpected.push(`${method} ${path}: ${status}`);
      const isRefused = status === 303 || status === 401;
      if (how === 'without a session' && needsSession && !isRefused)
        unexpected.push(`${method} ${path} is open`);
    }
    expect(unexpected).toEqual([]);
  });
});

function fill(path: string): string {
  return path.replace('{path}', 'public/v1/workspaces').replace('{id}', 'one').replace('{kind}', 'rooms');
}
