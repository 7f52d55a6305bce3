import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { toJson, toText } from '../../../../src/cli/doctor/report.ts';
import { describeDefect, runChecks } from '../../../../src/cli/doctor/run-checks.ts';
import { envOf, validEnv } from '../../../support/doctor/doctor.ts';
import { useTestApp } from '../../../support/fixtures.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';

const secret = 'hunter2-the-secret';
const key = randomBytes(32).toString('base64url');
const weak = Buffer.from('a pass phrase of 32 characters..').toString('base64url');
const SECRETS = ['hunter2', key, weak, validEnv.SESSION_KEYS];

const testApp = useTestApp();

/** Returns the doctor's report, as text and as JSON. */
async function outputFor(changes: Record<string, string>): Promise<string> {
  const findings = await runChecks({ ...envOf(testApp), ...changes });
  return toText(findings) + toJson(findings);
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
])('the report for %j contains no secrets', async (changes) => {
  const output = await outputFor(changes);
  expect(output).toMatch(/^ok /m);
  for (const each of SECRETS) expect(output).not.toContain(each);
});

test('the report omits secrets that the service echoes', async () => {
  testApp.intercept = (req, res) => {
    req.pipe(res);
    return true;
  };
  const output = await outputFor({ CLIENT_SECRET: secret });
  testApp.intercept = () => false;
  expect(output).toMatch(/^PROBLEM /m);
  expect(output).not.toContain(secret);
});

test('the report omits secrets that Redis echoes', async () => {
  await using server = await startTcpServer((socket) => {
    socket.once('data', (chunk: Buffer) =>
      socket.end(`-ERR ${chunk.toString('latin1').replaceAll('\r\n', ' ')}\r\n`),
    );
  });
  const output = await outputFor({ REDIS_URL: `redis://:${secret}@127.0.0.1:${server.port}` });
  expect(output).toMatch(/^PROBLEM {2}Redis: /m);
  expect(output).not.toContain(secret);
});

test('a bug in a check is reported with its location in the source', async () => {
  await using server = await startTcpServer((socket) => {
    socket.on('data', (commands: Buffer) => {
      for (const _ of commands.toString().matchAll(/^\*/gm)) socket.write('*1\r\n:1\r\n');
    });
  });
  const output = await outputFor({ REDIS_URL: `redis+cluster://127.0.0.1:${server.port}` });
  expect(output).toMatch(/^PROBLEM {2}Redis: The check itself failed: TypeError at .*src\/cli\/doctor\//m);
  expect(output).toMatch(/^ok {7}Service token endpoint/m);
});

test('the description of a bug omits the error message, even if the message looks like a stack frame', () => {
  const described = describeDefect(new RangeError(`${secret}\n    at ${secret} (${secret}:1:1)`));
  expect(described).toMatch(/^RangeError at .*secrecy\.test\.ts/);
  expect(described).not.toContain('hunter2');
});
