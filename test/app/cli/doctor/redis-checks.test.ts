import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { runDoctor, finding } from '../../../support/doctor/doctor.ts';
import { useFixture } from '../../../support/fixtures.ts';
import { PASSWORD, startRedisNode } from '../../../support/redis/redis-node.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { startUnresponsivePort } from '../../../support/unresponsive-port.ts';

const LOGIN = `:${encodeURIComponent(PASSWORD)}@`;
const redis = useFixture(async () => startRedisNode([`requirepass "${PASSWORD}"`]));
let url: string;

beforeAll(() => {
  url = `redis://${LOGIN}127.0.0.1:${redis.port}`;
});

afterEach(expectNoKeyLeft);

async function expectNoKeyLeft(): Promise<void> {
  expect(await redis.sendCommand('DBSIZE')).toBe(0);
}

/** Returns the finding for the Redis server at this URL. */
async function findingAt(REDIS_URL: string, id = 'redis-reachable') {
  const findingOf = await runDoctor({ REDIS_URL });
  return findingOf(id);
}

/** Returns a URL for a Redis user with only these permissions. */
async function urlWith(...rights: readonly string[]): Promise<string> {
  await redis.sendCommand('ACL', 'SETUSER', 'cloakroom', 'reset', 'on', '>a-password', ...rights);
  return `redis://cloakroom:a-password@127.0.0.1:${redis.port}`;
}

/** Returns a URL for a Redis user who can run every command except this one, but only on Cloakroom's keys. */
const urlWithout = async (command: string) => urlWith('~cloakroom:*', '+@all', `-${command}`);

test('a healthy Redis server passes every check', async () => {
  await redis.sendCommand('CONFIG', 'SET', 'appendonly', 'yes');
  const findingOf = await runDoctor({ REDIS_URL: url });
  await redis.sendCommand('CONFIG', 'SET', 'appendonly', 'no');
  const ids = ['reachable', 'encryption', 'password', 'role', 'commands', 'eviction', 'persistence'];
  for (const id of ids) expect(findingOf(`redis-${id}`).status).toBe('ok');
});

test.each([
  ['that is full', ['CONFIG', 'SET', 'maxmemory'], ['1'], ['0'], 'Redis is full'],
  ['that is a replica', ['REPLICAOF'], ['127.0.0.1', '1'], ['NO', 'ONE'], 'Redis is a replica'],
])('the doctor reports a Redis server %s as a problem', async (_, command, change, restore, words) => {
  await redis.sendCommand(...command, ...change);
  const found = await findingAt(url, 'redis-commands');
  await redis.sendCommand(...command, ...restore);
  expect(found).toMatchObject(finding('problem', words));
});

test.each([
  ['a wrong password', ':a-wrong-password@', '', 'refuses the user name or password'],
  ['an unknown user', 'somebody:a-wrong-password@', '', 'refuses the user name or password'],
  ['a missing password', '', '', 'requires a password'],
  ['a database that does not exist', LOGIN, '/99', 'does not have the database'],
])('the doctor reports %s in REDIS_URL as a problem', async (_, login, database, words) => {
  const findingOf = await runDoctor({ REDIS_URL: `redis://${login}127.0.0.1:${redis.port}${database}` });
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', words, '.'));
  expect(findingOf('redis-commands').status).toBe('skipped');
});

test.each([
  ...['set', 'get', 'getex', 'getdel', 'pttl', 'del', 'eval'],
  ...['expire', 'pexpire', 'rpush', 'lrem', 'lpop'],
])('if a Redis user can’t run %s, the doctor names the missing permission', async (command) => {
  expect(await findingAt(await urlWithout(command), 'redis-commands')).toEqual({
    id: 'redis-commands',
    title: 'Redis commands',
    status: 'problem',
    detail: `The user in REDIS_URL lacks permission to run ${command.toUpperCase()}.`,
    remedy: `Grant the user in REDIS_URL permission: ACL SETUSER <user> +${command}`,
  });
});

test('a Redis user with the permissions that the doctor suggests passes the check', async () => {
  const rights = ['~cloakroom:*'];
  const commands = async () => findingAt(await urlWith(...rights), 'redis-commands');
  // The doctor tries some commands only after others have succeeded, so one check may not find all missing permissions.
  for (let round = 0; round < 3; round += 1) {
    rights.push(...((await commands()).remedy.match(/\+[a-z]+/g) ?? []));
  }
  expect((await commands()).status).toBe('ok');
});

test('the doctor leaves no keys behind, even if the Redis user lacks permission to run SET and DEL', async () => {
  await runDoctor({
    REDIS_URL: await urlWith('~cloakroom:*', '+@all', '-set', '-del', '-getdel', '-expire'),
  });
  await expectNoKeyLeft();
});

test.each([
  ['incr', 'counts sign-ins separately'],
  ['info', 'can’t detect that Redis is full'],
])('a Redis user without permission to run %s causes only a warning', async (command, words) => {
  const found = await findingAt(await urlWithout(command), 'redis-commands');
  expect(found).toMatchObject(finding('warning', words, `+${command}`));
});

test('the Redis user needs access to keys that begin with REDIS_PREFIX', async () => {
  const REDIS_URL = await urlWith('~another:*', '+@all');
  expect(await findingAt(REDIS_URL, 'redis-commands')).toMatchObject(
    finding('problem', 'lacks permission to access keys that begin with REDIS_PREFIX.'),
  );
  const findingOf = await runDoctor({ REDIS_URL, REDIS_PREFIX: 'another:' });
  expect(findingOf('redis-commands').status).toBe('ok');
});

test('a Redis user without permission to run PING passes the check, because Cloakroom never sends PING', async () => {
  const findingOf = await runDoctor({ REDIS_URL: await urlWithout('ping') });
  for (const id of ['reachable', 'commands']) expect(findingOf(`redis-${id}`).status).toBe('ok');
});

test('if the Redis user lacks permission to select the database in REDIS_URL, the doctor names the missing permission', async () => {
  const found = await findingAt(`${await urlWithout('select')}/1`);
  expect(found).toMatchObject(finding('problem', '', '+select'));
});

test('a Redis server without INFO is a problem, because Cloakroom would never become ready', async () => {
  await using renamed = await startRedisNode(['rename-command INFO ""']);
  const found = await findingAt(`redis://127.0.0.1:${renamed.port}`, 'redis-commands');
  expect(found).toMatchObject(finding('problem', 'Redis does not support INFO.', 'rename-command'));
});

test.each([
  ['redis://127.0.0.1:1', /^127\.0\.0\.1:1 refuses connections\.$/],
  ['redis://redis.invalid', /can’t be (?:found|looked up)/],
  ['redis+unix:///nowhere/redis.sock', /does not exist/],
])('the doctor reports that there is no Redis at %s', async (REDIS_URL, words) => {
  expect(await findingAt(REDIS_URL)).toMatchObject(finding('problem', words));
});

test('the doctor gives up on a port that does not accept connections', async () => {
  await using unresponsive = await startUnresponsivePort();
  const found = await findingAt(`redis://127.0.0.1:${unresponsive.port}`);
  expect(found).toMatchObject(finding('problem', 'did not accept the connection in time'));
});

test('the doctor gives up on a Redis server that hangs', async () => {
  redis.pause();
  const found = await findingAt(url);
  redis.resume();
  expect(found).toMatchObject(finding('problem', 'does not respond'));
});

test('a check that times out is a problem, and the other checks still report results', async () => {
  await using silent = await startTcpServer(() => {});
  const REDIS_URL = `redis://127.0.0.1:${silent.port}`;
  const findingOf = await runDoctor({ REDIS_URL }, { timeoutMs: 500 });
  expect(findingOf('redis-reachable')).toMatchObject(
    finding('problem', 'The checks took longer than 0.5 s.'),
  );
  expect(findingOf('redis-commands').status).toBe('skipped');
  expect(findingOf('session-keys').status).toBe('ok');
});

test('a server that is not Redis is a problem', async () => {
  await using server = await startTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  expect((await findingAt(`redis://127.0.0.1:${server.port}`)).detail).toContain('is not Redis');
});

test('a rediss:// URL for Redis without TLS is a problem, whether or not Redis responds to the handshake', async () => {
  await using server = await startTcpServer((socket) => socket.once('data', () => socket.end('-ERR\r\n')));
  const responding = await findingAt(`rediss://127.0.0.1:${server.port}`);
  expect(responding.detail).toContain('does not use TLS');
  const waiting = await findingAt(url.replace('redis:', 'rediss:'));
  expect(waiting.remedy).toContain('that Redis uses TLS');
});
