import { expect, test } from '@jest/globals';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';

const one = { kind: 'single', tls: false, host: 'h', port: 6379, db: 0 };

test.each([
  ['redis://h', one],
  ['redis://h:6380', { ...one, port: 6380 }],
  [
    'rediss://cache_1.example.com:6380/3',
    { ...one, tls: true, host: 'cache_1.example.com', port: 6380, db: 3 },
  ],
  ['redis://h?db=4', { ...one, db: 4 }],
  ['redis://:p@h', { ...one, password: 'p' }],
  ['redis://u:p@h', { ...one, username: 'u', password: 'p' }],
  ['redis://u:a:b@h', { ...one, username: 'u', password: 'a:b' }],
  ['redis://u%40x:p%2F%40%3a%23%3f%25@h', { ...one, username: 'u@x', password: 'p/@:#?%' }],
  ['redis://[::1]', { ...one, host: '::1' }],
  ['redis://[2001:db8::7]:7000', { ...one, host: '2001:db8::7', port: 7000 }],
  ['redis+unix:///run/my%20redis.sock?db=2', { kind: 'socket', path: '/run/my redis.sock', db: 2 }],
  [
    'redis+sentinel://u:p@h1:26379,h2/my-master?db=1',
    {
      kind: 'sentinel',
      sentinels: [
        { host: 'h1', port: 26_379 },
        { host: 'h2', port: 26_379 },
      ],
      master: 'my-master',
      username: 'u',
      password: 'p',
      db: 1,
    },
  ],
  [
    'redis+cluster://:p@h1:7000,[::1]:7001,h3',
    {
      kind: 'cluster',
      nodes: [
        { host: 'h1', port: 7000 },
        { host: '::1', port: 7001 },
        { host: 'h3', port: 6379 },
      ],
      password: 'p',
      db: 0,
    },
  ],
])('%s is parsed', (url, target) => {
  expect(parseRedisUrl(url)).toEqual(target);
});

test.each([
  ['', 'must start with'],
  ['h:6379', 'must start with'],
  ['http://h', 'must start with'],
  ['redis:h', 'must start with'],
  ['redis://', 'has a host'],
  ['redis://h:0', 'has a host'],
  ['redis://h:65536', 'has a host'],
  ['redis://h h', 'has a host'],
  ['redis://::1', 'has a host'],
  ['redis://[::1', 'has a host'],
  ['redis://h1,h2', 'exactly one host'],
  ['redis://h/one', 'database that is not a number'],
  ['redis://h/-1', 'database that is not a number'],
  ['redis://h/1/', 'database that is not a number'],
  ['redis://h/1?db=2', 'database twice'],
  ['redis://h?db=', 'database that is not a number'],
  ['redis://h?tls=true', 'option other than "db"'],
  ['redis://u@h', 'user without a password'],
  ['redis://u:%zz@h', 'malformed percent-encoding'],
  ['redis://h#1', 'must start with'],
  ['redis+sentinel://h1,h2', 'must name the master'],
  ['redis+sentinel://h1/master/0', 'must name the master'],
  ['redis+sentinel://h1,/m', 'has a host'],
  ['redis+cluster://h1,h2/1', 'a database other than 0'],
  ['redis+cluster://h1?db=1', 'a database other than 0'],
  ['redis+unix://', 'must be of the form redis+unix'],
  ['redis+unix://h/path', 'must be of the form redis+unix'],
])('%j is refused', (url, message) => {
  expect(() => parseRedisUrl(url)).toThrow(message);
});

// Regression: part of a password was once parsed as the host, and Cloakroom logs the name of an unreachable host.
test.each(['/', '?', '#', '@', '%', ':@', '/@'])('an unescaped %j in a password is refused', (character) => {
  expect(() => parseRedisUrl(`redis://user:Pass${character}Word@host`)).toThrow(/^(?!.*(?:Pass|Word))/);
});

test.each([',', '\\', ' ', ':', '+', '='])('a password with an unescaped %j is accepted', (character) => {
  expect(parseRedisUrl(`redis://user:Pass${character}Word@host`)).toMatchObject({
    host: 'host',
    password: `Pass${character}Word`,
  });
});

test.each(['/', '?', '#', '@'])('digits before an unescaped %j in a password are not a port', (character) => {
  for (const scheme of ['redis', 'redis+sentinel'])
    expect(() => parseRedisUrl(`${scheme}://user:12${character}34@h/m`)).toThrow(/./);
});
