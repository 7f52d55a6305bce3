import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { auditLogs, countAudit, requireLogs } from '../../scripts/log-audit.mjs';

const TOKEN = 'q7Zr-0aXk2VdN8wLJ5yTbH3mPsEu9cGf1oRiKtQzWvA';
const PASSWORD = 's3cret-of-redis';
const COOKIE_ID = TOKEN.split('').toReversed().join('');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloakroom-audit-'));
});
afterEach(async () => rm(folder, { recursive: true }));

/** Audits the log lines of one test file that uses three known secrets. Returns the findings. */
async function findingsIn(...lines: string[]): Promise<string[]> {
  const secrets = [
    { kind: 'access token', value: TOKEN },
    { kind: 'Redis password', value: PASSWORD },
    { kind: 'cookie', value: `s:${COOKIE_ID}.c2lnbmF0dXJl/of+it` },
  ];
  await writeFile(
    join(folder, 'test~x.test.ts.7.secrets'),
    secrets.map((one) => JSON.stringify(one)).join('\n'),
  );
  await writeFile(join(folder, 'test~x.test.ts.7.lines'), `${lines.join('\n')}\n`);
  return auditLogs(folder).findings;
}

const line = (members: object) => JSON.stringify({ level: 'info', time: 1, ...members, msg: 'request' });
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('secrets in the log', () => {
  test.each([
    ['unchanged', `/a/${TOKEN}`],
    ['as a form value', `b=c&token=${TOKEN}&d`],
    ['percent-encoded', `/a/${Buffer.from(TOKEN).toString('hex').replaceAll(/../g, '%$&')}`],
    ['partly percent-encoded twice', `/a/%25${TOKEN.charCodeAt(0).toString(16)}${TOKEN.slice(1)}`],
    ['in base64', base64(TOKEN)],
    ['in base64 after other text, like credentials', base64(`demo-app:${TOKEN}`)],
    ['truncated', `${TOKEN.slice(9, 9 + 23)}…`],
    ['between other characters', `x${TOKEN}y`],
  ])('the log audit finds a secret %s', async (_how, path) => {
    expect(await findingsIn(line({ path }))).toEqual([
      'test/x.test.ts: a line “request” contains a secret (access token)',
    ]);
  });

  test('the log audit finds a secret in a line that is not JSON', async () => {
    expect(await findingsIn(`listening with ${PASSWORD}`)).toEqual([
      'test/x.test.ts: a line that is not a log line contains a secret (Redis password)',
    ]);
  });

  test.each([
    ['is short', { path: `redis://:${PASSWORD}@host` }],
    ['is the id in a cookie', { key: `session:${COOKIE_ID}` }],
  ])('the log audit finds a secret that %s', async (_what, members) => {
    expect(await findingsIn(line(members))).toHaveLength(1);
  });
});

test('the log audit accepts lines without a secret', async () => {
  const usual = {
    requestId: '0b3c2c3e-1111-4222-8333-123456789abc',
    path: '/workspaces/alpha',
    token: 'living',
  };
  expect(await findingsIn(line(usual), 'Building …', base64('nothing of ours here'))).toEqual([]);
});

const withCause = (cause: object) => ({
  err: { type: 'Error', message: '', cause: { type: 'Error', message: '', ...cause } },
});

test.each([
  ['an unknown field in a line', { headers: { cookie: 'x' } }, 'headers'],
  ['an unknown field in an error at any depth', withCause({ options: {} }), 'options'],
  ['a query in the path field', { path: '/workspaces?find=a' }, 'path with a query'],
  ['a query in the url field', { url: '/workspaces?find=a' }, 'url with a query'],
  ['a query in the reason field', { reason: '/workspaces?find=a' }, 'reason with a query'],
  [
    'a query in the message of an error at any depth',
    withCause({ message: 'GET /workspaces?find=a failed' }),
    'an error message with a query',
  ],
])('the log audit finds %s', async (_what, members, found) => {
  expect(await findingsIn(line(members))).toEqual([
    `test/x.test.ts: a line “request” has an unknown field: ${found}`,
  ]);
});

test('the log audit finds a truncated line', async () => {
  expect(await findingsIn('{"level":"info","time":1')).toHaveLength(1);
});

test('a log audit is counted as a failed test if there are findings, and otherwise as a passed test', () => {
  expect(countAudit({ lines: 2, secrets: 1, findings: ['a line'] })).toEqual({ passed: 0, failed: 1 });
  expect(countAudit({ lines: 2, secrets: 1, findings: [] })).toEqual({ passed: 1, failed: 0 });
});

test.each([
  ['no lines', { lines: 0, secrets: 1, findings: [] }],
  ['no secrets', { lines: 1, secrets: 0, findings: [] }],
])(
  'a log audit with %s is counted as a failed test after a full run, but not after a partial run',
  (_what, audit) => {
    expect(countAudit(audit)).toEqual({ passed: 0, failed: 0 });
    expect(countAudit(requireLogs(audit))).toEqual({ passed: 0, failed: 1 });
  },
);

test('a log audit after a full run passes if there are lines and secrets but no findings', () => {
  expect(countAudit(requireLogs({ lines: 1, secrets: 1, findings: [] }))).toEqual({ passed: 1, failed: 0 });
});
