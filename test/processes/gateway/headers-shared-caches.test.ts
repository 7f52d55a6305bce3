import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '../../support/fleet/free-port.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { startChildProgram } from '../../support/child-program.mjs';

/** A shared cache that adds `X-Cache: HIT` to responses from its store. */
interface SharedCache extends AsyncDisposable {
  readonly origin: string;
}

let folder: string;
let testApp: TestApp;
let caches: Readonly<Record<string, SharedCache>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cloakroom-caches-'));
  testApp = await startTestApp();
  testApp.intercept = (req, res) => {
    const { searchParams } = new URL(req.url ?? '', 'http://service.test');
    for (const field of searchParams.getAll('field')) {
      const [name = '', value = ''] = field.split(': ');
      res.appendHeader(name, value);
    }
    res.end(`for ${req.headers.authorization}`);
    return true;
  };
  const starting = Object.entries(CACHES).map(async ([name, start]) => [name, await start()] as const);
  caches = Object.fromEntries(await Promise.all(starting));
});
afterAll(async () => {
  for (const cache of Object.values(caches)) await cache[Symbol.asyncDispose]();
  await testApp[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const CACHES: Readonly<Record<string, () => Promise<SharedCache>>> = {
  nginx: async () => startNginxCache('nginx', ''),
  'nginx that honours only Cache-Control': async () =>
    startNginxCache('by-cache-control', 'proxy_ignore_headers Vary Set-Cookie;'),
  'nginx that honours only Vary': async () =>
    startNginxCache('by-vary', 'proxy_ignore_headers Cache-Control Expires; proxy_cache_valid any 1h;'),
  haproxy: startHaproxyCache,
};

async function startNginxCache(name: string, rules: string): Promise<SharedCache> {
  const [port, home] = [await freePort(), join(folder, name)];
  await mkdir(home);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  await writeFile(
    join(home, 'nginx.conf'),
    `
      ${process.getuid?.() === 0 ? 'user root;' : ''}
      daemon off;
      worker_processes 1;
      pid ${home}/nginx.pid;
      error_log ${home}/error.log;
      events { worker_connections 512; }
      http {
        access_log off;
        ${temporary.map((what) => `${what}_temp_path ${home}/${what};`).join(' ')}
        proxy_cache_path ${home}/cache keys_zone=shared:8m;
        server {
          listen 127.0.0.1:${port};
          location / {
            proxy_pass ${testApp.origin};
            proxy_cache shared;
            proxy_cache_key $request_uri;
            ${rules}
            add_header X-Cache $upstream_cache_status always;
          }
        }
      }
    `,
  );
  const command = ['nginx', '-p', home, '-c', `${home}/nginx.conf`, '-e', `${home}/error.log`] as const;
  return started(command, port);
}

async function startHaproxyCache(): Promise<SharedCache> {
  const [port, file] = [await freePort(), join(folder, 'haproxy.cfg')];
  await writeFile(
    file,
    `
cache shared
  total-max-size 16
  max-object-size 1000000
  max-age 3600
  process-vary on
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen front
  bind 127.0.0.1:${port}
  http-request cache-use shared
  http-response cache-store shared
  http-after-response set-header X-Cache HIT if { res.cache_hit }
  server cloakroom ${new URL(testApp.origin).host}
`,
  );
  return started(['haproxy', '-db', '-f', file], port);
}

async function started(command: readonly [string, ...string[]], port: number): Promise<SharedCache> {
  const origin = `http://127.0.0.1:${port}`;
  const isUp = async () => (await fetch(`${origin}/healthz`).catch(() => null))?.ok === true;
  const program = await startChildProgram(command, {}, isUp);
  return { origin, [Symbol.asyncDispose]: async () => program[Symbol.asyncDispose]() };
}

const CACHE_CONTROL = [
  [],
  ['max-age=60'],
  ['public'],
  ['public, max-age=60'],
  ['public, s-maxage=31536000'],
  ['PUBLIC,S-MAXAGE="60"'],
  ['s-maxage=60, proxy-revalidate'],
  ['must-revalidate, max-age=60'],
  ['private="x-field", max-age=60'],
  ['no-cache="x-field", max-age=60'],
  ['must-understand, no-store, max-age=60'],
  ['max-age=60, stale-while-revalidate=60, immutable'],
  ['public', 'max-age=60'],
  ['max-age=60; public'],
  ['x="private, max-age=60'],
  ['no-cache'],
  ['private, max-age=60'],
  ['no-store'],
].map((values) => values.map((value) => `Cache-Control: ${value}`));
const EXPIRES = [[], ['Expires: Thu, 01 Jan 2099 00:00:00 GMT']];
const VARY = [[], ['Vary: Accept-Encoding'], ['Vary: Cookie, Accept']];
const OTHERS = [
  [],
  [
    'Surrogate-Control: max-age=60',
    'CDN-Cache-Control: max-age=60',
    'X-Accel-Expires: 60',
    'ETag: "e"',
    'Last-Modified: Thu, 01 Jan 2015 00:00:00 GMT',
  ],
];
const COMBINATIONS = CACHE_CONTROL.flatMap((caching) =>
  EXPIRES.flatMap((expires) =>
    VARY.flatMap((vary) => OTHERS.map((others) => [caching, expires, vary, others].flat())),
  ),
);

describe.each(Object.keys(CACHES))('behind %s', (kind) => {
  const responseTo = async (path: string, cookie?: string) => {
    const { origin } = caches[kind] ?? {};
    const response = await fetch(`${origin}${path}`, { headers: cookie === undefined ? {} : { cookie } });
    return `${response.status} ${await response.text()}`;
  };

  test('the cache stores a public document, which proves that the cache works', async () => {
    const { origin } = caches[kind] ?? {};
    await fetch(`${origin}/openapi.json`).then(async (response) => response.arrayBuffer());
    const again = await fetch(`${origin}/openapi.json`);
    expect(again.headers.get('x-cache')).toBe('HIT');
    await again.arrayBuffer();
  });

  test('a response to one user never reaches another client', async () => {
    const alice = await testApp.createSession({ accessToken: 'of-alice' });
    const bob = await testApp.createSession({ accessToken: 'of-bob' });
    const leaked: string[] = [];
    for (const [index, fields] of COMBINATIONS.entries()) {
      const query = new URLSearchParams({ n: `${index}` });
      for (const field of fields) query.append('field', field);
      const path = `/api/public/v1/workspaces?${query.toString()}`;
      const first = await responseTo(path, alice.cookie);
      const second = await responseTo(path, bob.cookie);
      const third = await responseTo(path);
      if (first !== '200 for Bearer of-alice') throw new Error(first);
      if (second !== '200 for Bearer of-bob' || !third.startsWith('401 ')) leaked.push(fields.join(' | '));
    }
    expect(leaked).toEqual([]);
  });
});
