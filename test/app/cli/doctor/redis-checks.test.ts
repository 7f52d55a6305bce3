import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { startDeafPort } from '../../../support/deaf-port.ts';
import { examined } from '../../../support/doctor/doctor.ts';
import { PASSWORD, startRedisNode } from '../../../support/redis/redis-node.ts';
import type { RedisNode } from '../../../support/redis/redis-node.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';

let redis: RedisNode;
let url: string;

beforeAll(async () => {
  redis = await startRedisNode(() => [`requirepass "${PASSWORD}"`]);
  url = `redis://:${encodeURIComponent(PASSWORD)}@127.0.0.1:${redis.port}`;
});

afterEach(expectNothingLeft);

afterAll(async () => {
  await redis[Symbol.asyncDispose]();
});

async function expectNothingLeft(): Promise<void> {
  expect(await redis.ask('DBSIZE')).toBe(0);
}

/** A user with all rights but some. */
async function withUser(rights: readonly string[]): Promise<string> {
  await redis.ask('ACL', 'SETUSER', 'cloakroom', 'reset', 'on', '>a-password', ...rights);
  return `redis://cloakroom:a-password@127.0.0.1:${redis.port}`;
}

test('a Redis that is well is well in all', async () => {
  await redis.ask('CONFIG', 'SET', 'save', '3600 1');
  const said = await examined({ REDIS_URL: url });
  const ids = ['reachable', 'encryption', 'password', 'info', 'version', 'role', 'commands', 'sign-in-limit'];
  const more = ['eviction', 'memory', 'persistence', 'clients', 'clock'];
  for (const id of [...ids, ...more])
    expect(said(`redis-${id}`)).toMatchObject({ id: `redis-${id}`, status: 'ok' });
  await redis.ask('CONFIG', 'SET', 'save', '');
});

test('one that keeps nothing on disk is a warning', async () => {
  const said = await examined({ REDIS_URL: url });
  expect(said('redis-persistence').status).toBe('warning');
});

test('one that evicts is a problem', async () => {
  await redis.ask('CONFIG', 'SET', 'maxmemory', '100mb', 'maxmemory-policy', 'allkeys-lru');
  const said = await examined({ REDIS_URL: url });
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction');
  expect(said('redis-eviction')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('allkeys-lru'),
  });
});

test('one that is full is a problem', async () => {
  await redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  const said = await examined({ REDIS_URL: url });
  await redis.ask('CONFIG', 'SET', 'maxmemory', '0');
  expect(said('redis-memory').status).toBe('problem');
  expect(said('redis-commands')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('full'),
  });
});

test('a replica is a problem', async () => {
  await redis.ask('REPLICAOF', '127.0.0.1', '1');
  const said = await examined({ REDIS_URL: url });
  await redis.ask('REPLICAOF', 'NO', 'ONE');
  expect(said('redis-role').status).toBe('problem');
  expect(said('redis-commands')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('replica'),
  });
});

test('a database that it does not have is a problem', async () => {
  const said = await examined({ REDIS_URL: `${url}/99` });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('does not have the database'),
  });
});

test.each([
  ['a wrong password', 'redis://:a-wrong-password@', 'refuses the user or the password'],
  ['an unknown user', 'redis://somebody:a-wrong-password@', 'refuses the user or the password'],
  ['no password', 'redis://', 'asks for a password'],
])('%s is said in words', async (_, start, words) => {
  const said = await examined({ REDIS_URL: `${start}127.0.0.1:${redis.port}` });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining(words),
  });
  expect(said('redis-reachable').remedy).not.toBe('');
  expect(said('redis-commands').status).toBe('skipped');
});

test.each(['set', 'get', 'getex', 'getdel', 'pttl', 'del', 'eval', 'hget', 'hkeys'])(
  'a user who may not run %s is told which command to allow',
  async (command) => {
    const said = await examined({ REDIS_URL: await withUser(['~cloakroom:*', '+@all', `-${command}`]) });
    expect(said('redis-commands')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining(command.toUpperCase()),
      remedy: expect.stringContaining(`+${command}`),
    });
  },
);

test.each(['expire', 'pexpire', 'hset', 'hstrlen', 'hdel', 'rpush', 'lrem', 'lpop'])(
  'a user whose scripts may not run %s is told',
  async (command) => {
    const said = await examined({ REDIS_URL: await withUser(['~cloakroom:*', '+@all', `-${command}`]) });
    expect(said('redis-commands')).toMatchObject({
      status: 'problem',
      detail: `Its user may not run ${command.toUpperCase()}.`,
    });
  },
);

test('the rights that are told in the end are enough', async () => {
  const rights = ['~cloakroom:*', '+info'];
  const examine = async () => {
    const said = await examined({ REDIS_URL: await withUser(rights) });
    return [said('redis-commands'), said('redis-sign-in-limit')];
  };
  // What stands in the way of others is found first.
  for (let round = 0; round < 3; round += 1) {
    for (const { remedy } of await examine()) rights.push(...(remedy.match(/\+[a-z]+/g) ?? []));
  }
  expect((await examine()).map(({ status }) => status)).toEqual(['ok', 'ok']);
});

test('a user without a right to our keys is told', async () => {
  const said = await examined({ REDIS_URL: await withUser(['~another:*', '+@all']) });
  expect(said('redis-commands')).toMatchObject({
    status: 'problem',
    detail: 'Its user may not touch keys that begin with REDIS_PREFIX.',
  });
});

test('the prefix is that of the configuration', async () => {
  const REDIS_URL = await withUser(['~another:*', '+@all']);
  const said = await examined({ REDIS_URL, REDIS_PREFIX: 'another:' });
  expect(said('redis-commands').status).toBe('ok');
});

test('without INFO and CONFIG, what can be told is told', async () => {
  const said = await examined({
    REDIS_URL: await withUser(['~cloakroom:*', '+@all', '-info', '-config', '-time']),
  });
  expect(said('redis-info')).toMatchObject({
    status: 'warning',
    remedy: 'Allow it: ACL SETUSER <user> +info',
  });
  expect(said('redis-version').status).toBe('skipped');
  expect(said('redis-clock')).toMatchObject({
    status: 'skipped',
    remedy: expect.stringMatching(/ \+time$/),
  });
  expect(said('redis-commands').status).toBe('ok');
});

test('without CONFIG alone, it says that whether Redis saves from time to time is not known', async () => {
  const said = await examined({ REDIS_URL: await withUser(['~cloakroom:*', '+@all', '-config']) });
  expect(said('redis-persistence')).toMatchObject({
    status: 'skipped',
    remedy: expect.stringMatching(/ \+config\|get$/),
  });
});

test('a user who may not run PING, which Cloakroom never does, is well', async () => {
  const said = await examined({ REDIS_URL: await withUser(['~cloakroom:*', '+@all', '-ping']) });
  for (const id of ['reachable', 'commands']) expect(said(`redis-${id}`).status).toBe('ok');
  // How long it takes is a matter of this machine.
  expect(said('redis-latency').detail).toMatch(/ ms there and back/);
});

test('a user who may not go to the database of REDIS_URL is told which command to allow', async () => {
  const REDIS_URL = `${await withUser(['~cloakroom:*', '+@all', '-select'])}/1`;
  const said = await examined({ REDIS_URL });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('SELECT'),
    remedy: expect.stringContaining('+select'),
  });
});

test('a Redis whose INFO was renamed is a problem: Cloakroom never takes it for ready', async () => {
  await using renamed = await startRedisNode(() => ['rename-command INFO ""']);
  const said = await examined({ REDIS_URL: `redis://127.0.0.1:${renamed.port}` });
  expect(said('redis-info')).toMatchObject({
    status: 'problem',
    remedy: expect.stringContaining('rename-command'),
  });
});

test('without a command of its own the limit of sign-ins is a warning', async () => {
  const said = await examined({ REDIS_URL: await withUser(['~cloakroom:*', '+@all', '-incr']) });
  expect(said('redis-sign-in-limit')).toMatchObject({
    status: 'warning',
    remedy: expect.stringContaining('+incr'),
  });
  expect(said('redis-commands').status).toBe('ok');
});

test('a clock that is off is a warning', async () => {
  const said = await examined({ REDIS_URL: url }, { now: () => Date.now() - 600_000 });
  expect(said('redis-clock')).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('10 min behind'),
  });
});

test('where nothing listens, it says so', async () => {
  const said = await examined({ REDIS_URL: 'redis://127.0.0.1:1' });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: 'Redis at 127.0.0.1:1 refuses connections: nothing listens there.',
  });
});

test('a name that nobody has is said to be one', async () => {
  const said = await examined({ REDIS_URL: 'redis://redis.invalid' });
  expect(said('redis-reachable').detail).toMatch(/can’t be (?:found|looked up)/);
});

test('a socket that is not there is told', async () => {
  const said = await examined({ REDIS_URL: 'redis+unix:///nowhere/redis.sock' });
  expect(said('redis-reachable').detail).toContain('there is no such socket');
});

test('a port that accepts no connection is given up in time, and is not taken for a Redis without TLS', async () => {
  await using deaf = await startDeafPort();
  const examinations = ['redis', 'rediss'].map(async (scheme) =>
    examined({ REDIS_URL: `${scheme}://127.0.0.1:${deaf.port}` }),
  );
  for (const said of await Promise.all(examinations)) {
    expect(said('redis-reachable')).toMatchObject({
      status: 'problem',
      detail: expect.stringContaining('gets lost'),
    });
  }
});

test('a Redis that hangs is given up in time', async () => {
  redis.pause();
  const said = await examined({ REDIS_URL: url });
  redis.resume();
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('says nothing'),
  });
});

test('one that takes too long is given up, and the rest is told', async () => {
  await using silent = await startTcpServer(() => {});
  const REDIS_URL = `redis://127.0.0.1:${silent.port}`;
  const said = await examined({ REDIS_URL }, { withinMs: 500 });
  expect(said('redis-reachable')).toMatchObject({
    status: 'problem',
    detail: 'Not all was answered within 0.5 s.',
  });
  expect(said('redis-commands').status).toBe('skipped');
  expect(said('session-keys').status).toBe('ok');
});

test('what answers and is no Redis is said to be none', async () => {
  await using server = await startTcpServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  const said = await examined({ REDIS_URL: `redis://127.0.0.1:${server.port}` });
  expect(said('redis-reachable').detail).toContain('not as Redis does');
});

test('TLS to a Redis that speaks none is told', async () => {
  await using server = await startTcpServer((socket) => socket.once('data', () => socket.end('-ERR\r\n')));
  const said = await examined({ REDIS_URL: `rediss://127.0.0.1:${server.port}` });
  expect(said('redis-reachable').detail).toContain('does not speak TLS');
});

test('TLS to a Redis that goes on waiting for the end of a command is told, too', async () => {
  const said = await examined({ REDIS_URL: url.replace('redis:', 'rediss:') });
  expect(said('redis-reachable').detail).toContain('no TLS comes about');
});

test('a Redis on another host is to be encrypted and to ask for a password', async () => {
  const said = await examined({ REDIS_URL: 'redis://redis.invalid' });
  expect(said('redis-encryption').status).toBe('warning');
  expect(said('redis-password').status).toBe('warning');
  const secured = await examined({ REDIS_URL: 'rediss://:a-password@redis.invalid' });
  expect(secured('redis-encryption').status).toBe('ok');
  expect(secured('redis-password').status).toBe('ok');
});
