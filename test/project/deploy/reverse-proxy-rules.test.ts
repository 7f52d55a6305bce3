import { connect } from 'node:http2';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { useFixture } from '../../support/fixtures.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { createFetch, openTls } from '../../support/reverse-proxies/reverse-proxy.ts';
import { startHaproxy } from '../../support/haproxy.mjs';
import { startTestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { exchangeBytes } from '../../support/raw-client.ts';
import { REVERSE_PROXIES, useReverseProxy } from './reverse-proxies.ts';

// These tests send hostile requests to the reverse proxies and the load balancer, with the configurations in deploy/.

const SECRET = 'c0de-that-no-log-may-have';

/** Targets whose question mark was encoded, replaced or lost. */
const MANGLED = ['%3Fcode=', '%253fcode=', ';code=', '&code=', ',code=', '/code=', '%26', '%3b', '%23'].map(
  (lead) => `/seen${lead}${SECRET}`,
);

/** Spellings of `/readyz` that some servers accept. */
const READYZ = [
  '/readyz',
  '/readyz?a=b',
  '/readyz/',
  '//readyz',
  '/./readyz',
  '/%72eadyz',
  '/readyz%2f',
  '/READYZ',
  '/readyz;a',
  '/readyz#a',
  '/readyz%23',
  'http://localhost/readyz',
];

const head = (target: string, host = 'localhost', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
const statusOf = (response: string) => Number(/^HTTP\/1\.1 (\d{3}) /.exec(response)?.[1]);
const locationOf = (response: string) => /^location: (.*)\r$/im.exec(response)?.[1] ?? null;

describe.each(REVERSE_PROXIES)('%s', (_name, startProxy) => {
  const { options, testApp, proxy } = useReverseProxy(startProxy);

  const overTls = async (text: string) => {
    const end = await openTls(options);
    end.socket.write(text);
    await end.closed;
    return end.text();
  };
  const overHttp = async (text: string) =>
    (await exchangeBytes(options.httpPort, Buffer.from(text))).toString('latin1');

  test.each(READYZ)('does not expose /readyz: %s', async (target) => {
    expect([400, 404]).toContain(statusOf(await overTls(head(target))));
  });

  test('serves /healthz', async () => {
    const response = await createFetch(options)(`${options.origin}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  test.each([
    ['a different name', head('/', 'other.example')],
    ['a name that ends with the right name', head('/', 'other-localhost')],
    ['an IP address', head('/', '127.0.0.1')],
    ['a different name in absolute form', head('http://other.example/', 'localhost')],
  ])('refuses requests for %s, with or without TLS', async (_what, text) => {
    const before = testApp.logged.length;
    for (const send of [overTls, overHttp]) {
      const response = await send(text);
      expect([statusOf(response), locationOf(response)]).toEqual([421, null]);
    }
    expect(testApp.logged.slice(before).filter((line) => !line.includes('"path":"/readyz"'))).toEqual([]);
  });

  test('refuses requests for a different name over HTTP/2', async () => {
    const session = connect(options.origin, { ca: options.certificate.cert });
    const [headers] = (await once(
      session.request({ ':path': '/', ':authority': 'other.example' }).end(),
      'response',
    )) as [Record<string, unknown>];
    expect(headers[':status']).toBe(421);
    session.close();
  });

  test.each([
    ['/', '/'],
    ['//other.example/', '/'],
    ['/\\other.example', '/'],
    ['/workspaces?page=2&limit=5', '/workspaces?page=2&limit=5'],
    ['http://localhost/a?b=c', '/'],
    ['/.@other.example', '/'],
  ])('redirects http only to PUBLIC_URL, without Strict-Transport-Security: %s', async (target, path) => {
    const response = await overHttp(head(target));
    expect([statusOf(response), locationOf(response)?.startsWith(options.origin + path)]).toEqual([
      308,
      true,
    ]);
    expect(response).not.toMatch(/^strict-transport-security:/im);
  });

  test.each([
    head('x:@other.example/'),
    head('@other.example/'),
    head('*', 'localhost', 'OPTIONS'),
    head('other.example:443', 'localhost', 'CONNECT'),
  ])('does not redirect a target that is not a path: %j', async (text) => {
    expect(locationOf(await overHttp(text))).toBeNull();
  });

  test('does not log the query, fragment or user in a URL', async () => {
    const targets = [
      `/seen?code=${SECRET}`,
      `/seen#state=${SECRET}`,
      `/seen?a#${SECRET}`,
      `http://localhost/seen?code=${SECRET}`,
      `http://localhost/seen#${SECRET}`,
      `http://me:${SECRET}@localhost/seen`,
      `http://localhost?code=${SECRET}`,
      `x:${SECRET}@localhost/seen`,
      `?code=${SECRET}`,
      `#${SECRET}`,
      SECRET,
    ];
    const host = new URL(options.origin).host; // Caddy logs only requests for this host
    for (const target of [...targets, ...MANGLED]) {
      for (const send of [overTls, overHttp]) {
        await send(head(target, host));
        await send(head(target, 'other.example'));
      }
    }
    await overTls(head('/last-one', host));
    await eventually(async () => (await proxy.logged()).includes('/last-one'));
    expect(await proxy.logged()).toContain('/seen');
    expect(await proxy.logged()).not.toContain(SECRET);
    expect(testApp.logged.join('')).not.toContain(SECRET);
  });
});

describe('HAProxy', () => {
  let port: number;
  const testApp = useFixture(async () => {
    port = await freePort();
    return startTestApp({ PUBLIC_URL: `http://localhost:${port}`, TRUST_PROXY: '1' });
  });
  const program = useFixture(async () => {
    const host = `127.0.0.1:${testApp.config.port}`;
    return startHaproxy(port, [host, host, host]);
  });
  const send = async (text: string) => (await exchangeBytes(port, Buffer.from(text))).toString('latin1');

  test.each(READYZ)('does not expose /readyz: %s', async (target) => {
    expect([400, 404]).toContain(statusOf(await send(head(target))));
  });

  test('does not forward upgrade requests', async () => {
    const upgrades: unknown[] = [];
    testApp.running.server.on('request', ({ headers, url }) => {
      if (url === '/upgraded') upgrades.push(headers.upgrade);
    });
    const fields = 'Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk';
    const response = await send(head('/upgraded').replace('Connection: close', fields));
    expect([statusOf(response), upgrades]).toEqual([404, [undefined]]);
  });

  test('does not log the query, fragment or user in a URL', async () => {
    const targets = [
      `/seen?a=${SECRET}`,
      `/seen#${SECRET}`,
      `http://me:${SECRET}@localhost/seen?a=${SECRET}`,
    ];
    for (const target of [...targets, ...MANGLED, `?a=${SECRET}`, `x:${SECRET}@a`]) await send(head(target));
    await send(head('/last-one'));
    await eventually(async () => program.printed().includes('/last-one'));
    expect(program.printed()).toContain('/seen');
    expect(program.printed()).not.toContain(SECRET);
  });
});
