import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startUnresponsivePort } from '../../../support/unresponsive-port.ts';
import { examine, finding } from '../../../support/doctor/doctor.ts';
import { PASSWORD, startRedisNode, type RedisNode } from '../../../support/redis/redis-node.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';

let redis: RedisNode;
let url: string;

beforeAll(async () => {
  redis = await startRedisNode(() => [`requirepass "${PASSWORD}"`]);
  url = `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${redis.port}`;
});

afterEach(expectNoKeyLeft);

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
});

async function expectNoKeyLeft(): Promise<void> {
  expect(await redis.ask('DBSIZE')).toBe(0);
}

/** The URL of a user with these rights alone. */
async function urlWith(...rights: readonly string[]): Promise<string> {
  await redis.ask('ACL', 'SETUSER', 'cloakroom', 'reset', 'on', '>a-password', ...rights);
  return `redis://cloakroom:a-password@127.0.0.1:${redis.port}`;
}

test('a healthy Redis passes every check', async () => {
  await redis.ask('CONFIG', 'SET', 'appendonly', 'yes');
  const findingOf = await examine({ REDIS_URL: url });
  await redis.ask('CONFIG', 'SET', 'appendonly', 'no');
  const ids = ['reachable', 'encryption', 'password', 'role', 'commands', 'eviction', 'persistence'];
  for (const id of ids) expect(findingOf(`redis-${id}`).status).toBe('ok');
});

test('a Redis without an append-only file is a warning', async () => {
  const findingOf = await examine({ REDIS_URL: url });
  expect(findingOf('redis-persistence').status).toBe('warning');
});

test('a Redis that is full is a problem', async () => {
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  const findingOf = await examine({ REDIS_URL: url });
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  expect(findingOf('redis-commands')).toMatchObject(finding('problem', 'It is full'));
});

test('a replica is a problem', async () => {
  await redis.ask('REPLICAOF', '127.0.0.1', '1');
  const findingOf = await examine({ REDIS_URL: url });
  await redis.ask('REPLICAOF', 'NO', 'ONE');
  expect(findingOf('redis-commands')).toMatchObject(
    finding('problem', 'It is a replica and takes no writes.'),
  );
});

test.each([
  ['a wrong password', ':a-wrong-password@', '', 'refuses the user or the password'],
  ['an unknown user', 'somebody:a-wrong-password@', '', 'refuses the user or the password'],
  ['no password', '', '', 'requires a password'],
  [
    'a database that does not exist',
    `:${encodeURIComponent(PASSWORD)}@`,
    '/99',
    'does not have the database',
  ],
])('%s in REDIS_URL is a problem', async (_, login, database, words) => {
  const findingOf = await examine({ REDIS_URL: `redis://${login}127.0.0.1:${redis.port}${database}` });
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', words, '.'));
  expect(findingOf('redis-commands').status).toBe('skipped');
});

test.each([
  ...['set', 'get', 'getex', 'getdel', 'pttl', 'del', 'eval'],
  ...['expire', 'pexpire', 'rpush', 'lrem', 'lpop'],
])('a user who may not run %s is a problem, with the right to give', async (command) => {
  const findingOf = await examine({ REDIS_URL: await urlWith('~cloakroom:*', '+@all', `-${command}`) });
  expect(findingOf('redis-commands')).toEqual({
    id: 'redis-commands',
    title: 'Redis: commands',
    status: 'problem',
    detail: `Its user may not run ${command.toUpperCase()}.`,
    remedy: `Allow this to the user in REDIS_URL: ACL SETUSER <user> +${command}`,
  });
});

test('a user with the rights that the doctor asks for passes', async () => {
  const rights = ['~cloakroom:*'];
  const commands = async () => (await examine({ REDIS_URL: await urlWith(...rights) }))('redis-commands');
  // Some commands are tried only once others are allowed.
  for (let round = 0; round < 3; round += 1) {
    rights.push(...((await commands()).remedy.match(/\+[a-z]+/g) ?? []));
  }
  expect((await commands()).status).toBe('ok');
});

test('without SET no key without a time to live is left behind', async () => {
  await examine({ REDIS_URL: await urlWith('~cloakroom:*', '+@all', '-set', '-del', '-getdel', '-expire') });
  await expectNoKeyLeft();
});

test.each([
  ['incr', 'limits sign-ins by its own count'],
  ['info', 'can’t tell when Redis is full'],
])('a user who may not run %s is a warning: Cloakroom does without it', async (command, consequence) => {
  const findingOf = await examine({ REDIS_URL: await urlWith('~cloakroom:*', '+@all', `-${command}`) });
  expect(findingOf('redis-commands')).toMatchObject(finding('warning', consequence, `+${command}`));
});

test('a user must have a right to the keys under REDIS_PREFIX', async () => {
  const REDIS_URL = await urlWith('~another:*', '+@all');
  expect((await examine({ REDIS_URL }))('redis-commands')).toMatchObject(
    finding('problem', 'Its user may not use keys that begin with REDIS_PREFIX.'),
  );
  const findingOf = await examine({ REDIS_URL, REDIS_PREFIX: 'another:' });
  expect(findingOf('redis-commands').status).toBe('ok');
});

test('a user who may not run PING, which Cloakroom never sends, passes', async () => {
  const findingOf = await examine({ REDIS_URL: await urlWith('~cloakroom:*', '+@all', '-ping') });
  for (const id of ['reachable', 'commands']) expect(findingOf(`redis-${id}`).status).toBe('ok');
});

test('a user who may not select the database in REDIS_URL is a problem, with the right to give', async () => {
  const findingOf = await examine({ REDIS_URL: `${await urlWith('~cloakroom:*', '+@all', '-select')}/1` });
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', '', '+select'));
});

test('a Redis whose INFO was renamed is a problem: Cloakroom never takes it for ready', async () => {
  await using renamed = await startRedisNode(() => ['rename-command INFO ""']);
  const findingOf = await examine({ REDIS_URL: `redis://127.0.0.1:${renamed.port}` });
  expect(findingOf('redis-commands')).toMatchObject(
    finding('problem', 'It does not know INFO.', 'rename-command'),
  );
});

test.each([
  ['redis://127.0.0.1:1', /^127\.0\.0\.1:1 refuses connections: nothing listens there\.$/],
  ['redis://redis.invalid', /can’t be (?:found|looked up)/],
  ['redis+unix:///nowhere/redis.sock', /there is no such socket/],
])('%s can’t be reached', async (REDIS_URL, words) => {
  const findingOf = await examine({ REDIS_URL });
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', words));
});

test('the doctor gives up on a port that accepts no connection', async () => {
  await using deaf = await startUnresponsivePort();
  const findingOf = await examine({ REDIS_URL: `redis://127.0.0.1:${deaf.port}` });
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', 'connecting gets no response'));
});

test('the doctor gives up on a Redis that hangs', async () => {
  redis.pause();
  const findingOf = await examine({ REDIS_URL: url });
  redis.resume();
  expect(findingOf('redis-reachable')).toMatchObject(finding('problem', 'does not respond'));
});

test('a check that takes too long is a problem, and the others have results', async () => {
  await using silent = await startTcpServer(() => {});
  const REDIS_URL = `redis://127.0.0.1:${silent.port}`;
  const findingOf = await examine({ REDIS_URL }, { timeoutMs: 500 });
  expect(findingOf('redis-reachable')).toMatchObject(
    finding('problem', 'The checks took longer than 0.5 s.'),
  );
  expect(findingOf('redis-commands').status).toBe('skipped');
  expect(findingOf('session-keys').status).toBe('ok');
});

test('a server that is no Redis is a problem', async () => {
  await using server = await startTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const findingOf = await examine({ REDIS_URL: `redis://127.0.0.1:${server.port}` });
  expect(findingOf('redis-reachable').detail).toContain('not as Redis does');
});

test('rediss:// to a Redis without TLS is a problem, whether it responds to a handshake or waits', async () => {
  await using server = await startTcpServer((socket) => socket.once('data', () => socket.end('-ERR\r\n')));
  const responding = await examine({ REDIS_URL: `rediss://127.0.0.1:${server.port}` });
  expect(responding('redis-reachable').detail).toContain('does not speak TLS');
  const waiting = await examine({ REDIS_URL: url.replace('redis:', 'rediss:') });
  expect(waiting('redis-reachable').remedy).toContain('whether Redis speaks TLS');
});
