import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { diagnose } from '../../../../src/cli/doctor/run-checks.ts';
import { toJson, toText } from '../../../../src/cli/doctor/report.ts';
import { envOf, soundEnv } from '../../../support/doctor/doctor.ts';
import { startTestApp } from '../../../support/test-app.ts';
import type { TestApp } from '../../../support/test-app.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';

const secret = 'hunter2-the-secret';
const key = randomBytes(32).toString('base64url');
const weak = Buffer.from('a pass phrase of 32 characters..').toString('base64url');
const SECRETS = ['hunter2', key, weak, soundEnv.SESSION_KEYS];

let testApp: TestApp;

beforeAll(async () => {
  testApp = await startTestApp();
});

afterAll(async () => {
  await testApp[Symbol.asyncDispose]();
});

/** All that is said, to people and to programs. */
async function said(changes: Record<string, string>, now = Date.now): Promise<string> {
  const env = { ...envOf(testApp), ...changes };
  let flaws = '';
  const tellFlaw = (words: string) => void (flaws += words);
  const findings = await diagnose({ env, nodeVersion: '24.11.0', ignoresDotEnv: false, now, tellFlaw });
  return toText(findings) + toJson(findings) + flaws;
}

test.each([
  { CLIENT_SECRET: secret },
  { CLIENT_ID: secret },
  { CLIENT_ID: `${secret}\n` },
  { CLIENT_SECRET_FILE: secret, CLIENT_SECRET: '' },
  { SCOPES: `${secret}"` },
  { SCOPES: secret },
  { PUBLIC_URL: `https://user:${secret}@app.example.com` },
  { SERVICE_URL: `https://${secret}@service.invalid` },
  { SERVICE_URL: `http://127.0.0.1/${secret}` },
  { SESSION_KEYS: secret },
  { SESSION_KEYS: `${key},${key}` },
  { SESSION_KEYS: weak },
  { REDIS_URL: `redis://user:${secret}@127.0.0.1:1` },
  { REDIS_URL: `redis://:${secret}@redis.invalid` },
  { REDIS_URL: `redis://user:pass@${secret}@127.0.0.1:1` },
  { REDIS_URL: `redis://:pass/${secret}@127.0.0.1:1` },
  { REDIS_URL: `redis://:pass#${secret}@127.0.0.1:1` },
  { REDIS_URL: `redis+sentinel://:${secret}@127.0.0.1:1/the-master` },
  { REDIS_URL: `redis+cluster://:${secret}@127.0.0.1:1` },
  { REDIS_URL: secret },
  { REDIS_PREFIX: `${secret} {` },
  { NODE_ENV: secret },
  { HOST: `${secret}!` },
  { LOG_LEVEL: secret },
  { SESION_KEYS: secret },
])('nothing secret is said of %j', async (changes) => {
  const output = await said(changes);
  expect(output).toMatch(/^ok /m);
  for (const each of SECRETS) expect(output).not.toContain(each);
});

test('nothing secret is said of a service that says back what it is told', async () => {
  testApp.intercept = (req, res) => {
    req.pipe(res);
    return true;
  };
  const output = await said({ CLIENT_SECRET: secret });
  testApp.intercept = () => false;
  expect(output).toMatch(/^PROBLEM /m);
  expect(output).not.toContain(secret);
});

test('nothing secret is said of a Redis that says back what it is told', async () => {
  await using server = await startTcpServer((socket) => {
    socket.once('data', (chunk: Buffer) =>
      socket.end(`-ERR ${chunk.toString('latin1').replaceAll('\r\n', ' ')}\r\n`),
    );
  });
  const output = await said({ REDIS_URL: `redis://:${secret}@127.0.0.1:${server.port}` });
  expect(output).toMatch(/^PROBLEM {2}Redis at /m);
  expect(output).not.toContain(secret);
});

test('a check that breaks tells where, and not with which words', async () => {
  const words = await said({}, () => {
    throw new RangeError(`${secret}\n    at ${secret} (${secret}:1:1)`, { cause: new TypeError(secret) });
  });
  expect(words).toMatch(
    /The check service-reachable broke: RangeError\n {4}at .*src\/cli\/doctor\/.*\n {2}because of TypeError\n {4}at /s,
  );
  expect(words).not.toContain('hunter2');
});
