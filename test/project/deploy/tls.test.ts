import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:http2';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Browser } from '../../support/browser.ts';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH, MIB } from '../../support/constants.ts';
import { createFetch, createPlace, openTls } from '../../support/fronts/front.ts';
import type { Front, Place } from '../../support/fronts/front.ts';
import { startCaddy } from '../../support/fronts/caddy.ts';
import { startNginx } from '../../support/fronts/nginx.ts';
import { passSignIn, startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';

const MOST_BYTES = 100 * MIB;
const OF_KNOWN_LENGTH = { 'content-length': '100' };
const SECRET = 'c0de-that-nobody-may-read';

/** Before 2.8 it ends an answer of no known length as if it were whole, whatever we do: docs/operations.md warns of it. */
const isOldCaddy = () => /^v?2\.[0-7]\./.test(execFileSync('caddy', ['version'], { encoding: 'utf8' }));

describe.each([
  ['nginx', startNginx],
  ['Caddy', startCaddy],
])('behind %s, which ends TLS,', (name, startFront) => {
  let place: Place;
  let testApp: TestApp;
  let front: Front;
  let send: typeof fetch;
  let cookie: string;
  beforeAll(async () => {
    place = await createPlace();
    testApp = await startTestApp({ PUBLIC_URL: place.origin, TRUST_PROXY: '1' });
    front = await startFront(place, [`127.0.0.1:${testApp.config.port}`]);
    send = createFetch(place);
    ({ cookie } = await testApp.enter());
  });
  afterEach(() => {
    testApp.intercept = () => false;
    testApp.calls.length = 0;
  });
  afterAll(async () => {
    await front[Symbol.asyncDispose]();
    await testApp[Symbol.asyncDispose]();
  });

  /** A call of the session's that its test writes and reads as it goes. */
  const begin = (method: string, headers: Record<string, string | number> = {}) =>
    request(place.origin + API_PATH, {
      method,
      ca: place.certificate.cert,
      agent: false,
      headers: { cookie, 'x-requested-with': 'test', ...headers },
    });
  const answerTo = async (req: ReturnType<typeof begin>) => {
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    return res;
  };
  /** Sends one request line and gives the whole answer. */
  const sendTarget = async (target: string) => {
    const end = await openTls(place);
    const head = ['Host: localhost', `Cookie: ${cookie}`, 'Sec-Fetch-Site: same-origin', 'Connection: close'];
    end.socket.write(`GET ${target} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
    await end.over;
    return end.text();
  };

  test('a person signs in, looks at the workspaces and signs out, with cookies that TLS alone may carry', async () => {
    const browser = new Browser(send);
    const consent = await passSignIn(browser, await browser.open(`${place.origin}/auth/login`));
    const callback = await browser.press(consent, 'Allow');
    const page = await browser.follow(callback);
    expect(page.url.href).toBe(`${place.origin}/workspaces`);
    expect(page.text).toContain('1–25');
    const cookies = await browser.jar.getCookies(page.url.href);
    const session = cookies.find(({ key }) => key === '__Host-Http-cloakroom');
    expect(session).toMatchObject({ secure: true, httpOnly: true, path: '/' });

    const list = await browser.open(`${place.origin}/api/public/v1/workspaces`);
    expect([list.status, list.headers.get('via')]).toEqual([200, expect.stringMatching(/^1\.1 cloakroom\b/)]);
    const out = await browser.follow(await browser.press(page, 'Sign out'));
    expect([out.status, out.url.pathname]).toEqual([200, '/']);

    const { code, state } = Object.fromEntries(new URL(callback.headers.get('location') ?? '').searchParams);
    await eventually(async () => (await front.logged()).includes('/auth/logout'));
    const logged = await front.logged();
    expect(logged).toContain('/auth/callback');
    for (const secret of [code, state, 'code=', 'state=', session?.value]) {
      expect(logged).not.toContain(secret);
    }
  });

  test('pages ask for https from now on, once', async () => {
    const { headers } = await send(place.origin);
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d+$/);
  });

  test('http leads to https, and says no more', async () => {
    const answer = await fetch(`http://localhost:${place.httpPort}/workspaces?page=2&limit=5`, {
      redirect: 'manual',
    });
    expect([answer.status, answer.headers.get('location')]).toEqual([
      308,
      `${place.origin}/workspaces?page=2&limit=5`,
    ]);
    expect(answer.headers.get('strict-transport-security')).toBeNull();
  });

  test.each(['GET', 'POST'])('http does not lead calls to https: %s', async (method) => {
    const call = `http://localhost:${place.httpPort}${API_PATH}?limit=5`;
    const answer = await fetch(call, { method, redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([404, null]);
  });

  test('what a browser claims of its address is not believed', async () => {
    const path = '/claimed-address';
    const claims = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9' };
    await send(place.origin + path, { headers: claims });
    const lines = () => testApp.logged.filter((line) => line.includes(path));
    await eventually(async () => lines().length > 0);
    expect(lines().map((line): unknown => JSON.parse(line))).toMatchObject([{ client: '127.0.0.1' }]);
  });

  test.each([
    ['encoded slashes', `${API_PATH}/a%2Fb%252F`],
    ['parameters of segments', `${API_PATH}/a;b=c;d`],
    ['all that a path may have', `${API_PATH}/%E2%82%ac/~_-.!$&'()*+,=:@`],
    ['an empty query', `${API_PATH}/?`],
    ['a query that is none', `${API_PATH}?a=1;b=%zz&&c==//..%2F\\|{}"`],
    ['the longest mark of a page', `${API_PATH}?next=${'n'.repeat(8192)}`],
  ])('the service gets the target as it came: %s', async (_what, target) => {
    expect(await sendTarget(target)).toMatch(/\r\nVia: 1\.1 cloakroom\b/i);
    expect(testApp.calls.map(({ url }) => url)).toEqual([target]);
  });

  test.each([
    `${API_PATH}//a`,
    `//api/public/v1/things`,
    `${API_PATH}/a%2F..%2Fb`,
    `${API_PATH}/..;/b`,
    `${API_PATH}/../b`,
  ])('it is Cloakroom that judges the target: %s', async (target) => {
    expect(await sendTarget(target)).toMatch(/^HTTP\/1\.1 40[04] [^]*\r\nx-request-id: /i);
    expect(testApp.calls).toEqual([]);
  });

  test('an upload of the largest size goes to the service as it comes', async () => {
    const half = randomBytes(MOST_BYTES / 2);
    const [seen, digest] = [createDeferred<void>(), createDeferred<string>()];
    testApp.intercept = (req, res) => {
      const hash = createHash('sha256');
      let bytes = 0;
      req.on('data', (chunk: Buffer) => {
        hash.update(chunk);
        bytes += chunk.length;
        // What a front may hold on the way, and no more.
        if (bytes > half.length - MIB) seen.resolve();
      });
      req.on('end', () => {
        digest.resolve(hash.digest('hex'));
        res.end('got it');
      });
      return true;
    };
    const upload = begin('PUT', { 'content-length': MOST_BYTES });
    upload.write(half);
    await seen.promise;
    upload.end(half);
    const answer = await answerTo(upload);
    expect([answer.statusCode, await text(answer)]).toEqual([200, 'got it']);
    expect(await digest.promise).toBe(createHash('sha256').update(half).update(half).digest('hex'));
  });

  test('HTTP/2 is spoken: a body of no stated length goes to the service as it comes', async () => {
    const [seen, whole] = [createDeferred<void>(), createDeferred<string>()];
    testApp.intercept = (req, res) => {
      req.once('data', () => seen.resolve());
      text(req).then(whole.resolve, whole.reject);
      req.once('end', () => res.end('got it'));
      return true;
    };
    const session = connect(place.origin, { ca: place.certificate.cert });
    const call = session.request({
      ':method': 'PUT',
      ':path': API_PATH,
      cookie,
      'x-requested-with': 'test',
    });
    const start = 'x'.repeat(64 * 1024); // what has to be here before the service hears of it
    call.write(start);
    await seen.promise;
    call.end(' and more');
    expect([await text(call), await whole.promise]).toEqual(['got it', `${start} and more`]);
    session.close();
  });

  test('an upload that is too large is refused by Cloakroom, by its head', async () => {
    const upload = begin('PUT', { 'content-length': MOST_BYTES + 1 }).on('error', () => {});
    upload.write('x');
    const answer = await answerTo(upload);
    expect([answer.statusCode, JSON.parse(await text(answer))]).toMatchObject([
      413,
      { code: 'body_too_large' },
    ]);
    upload.destroy();
    expect(testApp.calls).toEqual([]);
  });

  test('an upload without a session gets its 401, though it is not read', async () => {
    const upload = begin('PUT', { cookie: '', 'content-length': 20 * MIB }).on('error', () => {});
    // The rest is not sent: writing to a connection that the proxy has closed can lose its response (RFC 9112, section 9.6).
    upload.write(Buffer.alloc(MIB));
    const answer = await answerTo(upload);
    expect([answer.statusCode, JSON.parse(await text(answer))]).toMatchObject([
      401,
      { code: 'sign_in_required' },
    ]);
    upload.destroy();
  });

  test('an answer comes as the service sends it', async () => {
    const sent = createDeferred<{ write(text: string): void; end(): void }>();
    testApp.intercept = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
      sent.resolve(res);
      return true;
    };
    const call = begin('GET');
    call.end();
    const service = await sent.promise;
    const answer = await answerTo(call);
    const parts = answer.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
    for (const next of ['two', 'three', '']) {
      expect((await parts.next()).value).toMatch(/^data: \w+\n\n$/);
      if (next === '') service.end();
      else service.write(`data: ${next}\n\n`);
    }
    expect((await parts.next()).done).toBe(true);
  });

  test.each(name === 'Caddy' && isOldCaddy() ? [OF_KNOWN_LENGTH] : [OF_KNOWN_LENGTH, {}])(
    'a short answer never looks whole (%j)',
    async (headers) => {
      const begun = createDeferred<IncomingMessage['socket']>();
      testApp.intercept = (req, res) => {
        res.writeHead(200, headers).write('not all of');
        begun.resolve(req.socket);
        return true;
      };
      const call = begin('GET');
      call.end();
      const answer = await answerTo(call);
      await once(answer, 'readable');
      (await begun.promise).destroy();
      await expect(text(answer)).rejects.toThrow('aborted');
    },
  );

  test('a call that its browser gives up is given up at the service', async () => {
    const [came, left] = [createDeferred<void>(), createDeferred<void>()];
    testApp.intercept = (_req, res) => {
      res.once('close', () => left.resolve());
      came.resolve();
      return true;
    };
    const call = begin('GET').on('error', () => {});
    call.end();
    await came.promise;
    call.destroy();
    await expect(left.promise).resolves.toBeUndefined();
  });

  test('answers are the service’s, byte for byte, and none steers the front', async () => {
    const body = 'a page that nobody packs. '.repeat(200);
    const given = {
      'content-type': 'text/html',
      'content-length': String(body.length),
      date: 'Sat, 01 Jan 2022 00:00:00 GMT',
    };
    const steering = { 'x-accel-redirect': '/healthz', 'x-accel-limit-rate': '1', server: 'theirs' };
    testApp.intercept = (_req, res) => Boolean(res.writeHead(200, { ...given, ...steering }).end(body));
    const call = begin('GET', { 'accept-encoding': 'gzip' });
    call.end();
    const answer = await answerTo(call);
    expect(answer.headers).toMatchObject(given);
    expect(await text(answer)).toBe(body);
  });

  test('no encoding is asked for that the browser did not ask for', async () => {
    const call = begin('GET');
    call.end();
    await text(await answerTo(call));
    expect(testApp.calls.map(({ headers }) => headers['accept-encoding'])).toEqual([undefined]);
  });

  test('heads have Cloakroom’s bounds', async () => {
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-${at}`, 'y']));
    const call = begin('GET', headers);
    call.end();
    const answer = await answerTo(call);
    expect([answer.statusCode, JSON.parse(await text(answer))]).toMatchObject([
      431,
      { code: 'too_many_headers' },
    ]);
  });

  test('who asks for an upgrade gets a plain answer', async () => {
    testApp.intercept = (_req, res) => Boolean(res.end('plain'));
    const call = begin('GET', { connection: 'upgrade', upgrade: 'websocket' });
    call.end();
    const answer = await answerTo(call);
    expect([answer.statusCode, await text(answer)]).toEqual([200, 'plain']);
  });

  test(`${name} logs no query, not even of what goes wrong`, async () => {
    const place2 = await createPlace();
    await using lonely = await startFront(place2, ['127.0.0.1:9']);
    const referer = `${place2.origin}/auth/callback?code=${SECRET}`;
    const answer = await createFetch(place2)(`${place2.origin}/auth/callback?code=${SECRET}`, {
      headers: { referer },
    });
    expect([502, 503]).toContain(answer.status);
    expect(await answer.text()).not.toContain(SECRET);
    await eventually(async () => (await lonely.logged()).includes('/auth/callback'));
    expect(await lonely.logged()).not.toContain(SECRET);
  });
});
