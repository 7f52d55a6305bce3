import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:http2';
import { request } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Browser } from '../../support/browser.ts';
import { createDeferred } from '../../../src/promises.ts';
import { API_PATH, MIB } from '../../support/constants.ts';
import {
  createFetch,
  createReverseProxyOptions,
  openTls,
} from '../../support/reverse-proxies/reverse-proxy.ts';
import { submitSignIn } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { REVERSE_PROXIES, useReverseProxy } from './reverse-proxies.ts';

const MAX_BODY_BYTES = 100 * MIB;
const WITH_LENGTH = { 'content-length': '100' };
const SECRET = 'c0de-that-no-log-may-have';

/** Returns whether Caddy is older than 2.8. Such versions make truncated responses without a length look complete. */
const isOldCaddy = () => /^v?2\.[0-7]\./.test(execFileSync('caddy', ['version'], { encoding: 'utf8' }));

describe.each(REVERSE_PROXIES)('behind %s with TLS,', (name, startProxy) => {
  const { options, testApp, proxy } = useReverseProxy(startProxy);
  let send: typeof fetch;
  let cookie: string;
  beforeAll(async () => {
    send = createFetch(options);
    ({ cookie } = await testApp.createSession());
  });
  afterEach(() => {
    testApp.intercept = () => false;
    testApp.serviceRequests.length = 0;
  });
  /** Starts a request with the session cookie. The test itself writes the request body. */
  const begin = (method: string, headers: Record<string, string | number> = {}) =>
    request(options.origin + API_PATH, {
      method,
      ca: options.certificate.cert,
      agent: false,
      headers: { cookie, 'x-requested-with': 'test', ...headers },
    });
  const responseTo = async (req: ReturnType<typeof begin>) => {
    const [res] = (await once(req, 'response')) as [IncomingMessage];
    return res;
  };
  /** Sends a GET request with the session cookie. */
  const get = async (headers: Record<string, string | number> = {}) =>
    responseTo(begin('GET', headers).end());
  /** Resolves with the status and the problem code of a response. */
  const problemOf = async (response: IncomingMessage) => {
    const { code } = JSON.parse(await text(response)) as { code: string };
    return [response.statusCode, code];
  };
  /** Sends a request with this exact target. Resolves with the raw response. */
  const sendTarget = async (target: string) => {
    const end = await openTls(options);
    const head = ['Host: localhost', `Cookie: ${cookie}`, 'Sec-Fetch-Site: same-origin', 'Connection: close'];
    end.socket.write(`GET ${target} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n`);
    await end.closed;
    return end.text();
  };

  test('a user can sign in, open the workspaces and sign out with Secure cookies', async () => {
    const browser = new Browser(send);
    const consent = await submitSignIn(browser, await browser.open(`${options.origin}/auth/login`));
    const callback = await browser.press(consent, 'Allow');
    const page = await browser.follow(callback);
    expect(page.url.href).toBe(`${options.origin}/workspaces`);
    expect(page.text).toContain('1–25');
    const cookies = await browser.jar.getCookies(page.url.href);
    const session = cookies.find(({ key }) => key === '__Host-Http-cloakroom');
    expect(session).toMatchObject({ secure: true, httpOnly: true, path: '/' });

    const list = await browser.open(`${options.origin}/api/public/v1/workspaces`);
    expect([list.status, list.headers.get('via')]).toEqual([200, expect.stringMatching(/^1\.1 cloakroom\b/)]);
    const out = await browser.follow(await browser.press(page, 'Sign out'));
    expect([out.status, out.url.pathname]).toEqual([200, '/']);

    const { code, state } = Object.fromEntries(new URL(callback.headers.get('location') ?? '').searchParams);
    await eventually(async () => (await proxy.logged()).includes('/auth/logout'));
    const logged = await proxy.logged();
    expect(logged).toContain('/auth/callback');
    for (const secret of [code, state, 'code=', 'state=', session?.value]) {
      expect(logged).not.toContain(secret);
    }
  });

  test('pages have exactly one Strict-Transport-Security header', async () => {
    const { headers } = await send(options.origin);
    expect(headers.get('strict-transport-security')).toMatch(/^max-age=\d+$/);
  });

  test.each(['GET', 'POST'])('API requests over http are not redirected: %s', async (method) => {
    const url = `http://localhost:${options.httpPort}${API_PATH}?limit=5`;
    const response = await fetch(url, { method, redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([404, null]);
  });

  test.each([
    ['encoded slashes', `${API_PATH}/a%2Fb%252F`],
    ['every character of a path', `${API_PATH}/%E2%82%ac/~_-.!$&'()*+,=:@`],
    ['a malformed query', `${API_PATH}?a=1;b=%zz&&c==//..%2F\\|{}"`],
    ['the longest cursor', `${API_PATH}?next=${'n'.repeat(8192)}`],
  ])('the service receives the target byte for byte: %s', async (_what, target) => {
    expect(await sendTarget(target)).toMatch(/\r\nVia: 1\.1 cloakroom\b/i);
    expect(testApp.serviceRequests.map(({ url }) => url)).toEqual([target]);
  });

  test.each([`${API_PATH}//a`, `//api/public/v1/things`, `${API_PATH}/..;/b`])(
    'Cloakroom itself checks the target: %s',
    async (target) => {
      expect(await sendTarget(target)).toMatch(/^HTTP\/1\.1 40[04] [^]*\r\nx-request-id: /i);
      expect(testApp.serviceRequests).toEqual([]);
    },
  );

  test('an upload of the maximum size streams to the service', async () => {
    const half = randomBytes(MAX_BODY_BYTES / 2);
    const [seen, digest] = [createDeferred<void>(), createDeferred<string>()];
    testApp.intercept = (req, res) => {
      const hash = createHash('sha256');
      let bytes = 0;
      req.on('data', (chunk: Buffer) => {
        hash.update(chunk);
        bytes += chunk.length;
        // The reverse proxy can buffer up to 1 MiB.
        if (bytes > half.length - MIB) seen.resolve();
      });
      req.on('end', () => {
        digest.resolve(hash.digest('hex'));
        res.end('got it');
      });
      return true;
    };
    const upload = begin('PUT', { 'content-length': MAX_BODY_BYTES });
    upload.write(half);
    await seen.promise;
    upload.end(half);
    const response = await responseTo(upload);
    expect([response.statusCode, await text(response)]).toEqual([200, 'got it']);
    expect(await digest.promise).toBe(createHash('sha256').update(half).update(half).digest('hex'));
  });

  test('an HTTP/2 request body without a length streams to the service', async () => {
    const [seen, whole] = [createDeferred<void>(), createDeferred<string>()];
    testApp.intercept = (req, res) => {
      req.once('data', () => seen.resolve());
      text(req).then(whole.resolve, whole.reject);
      req.once('end', () => res.end('got it'));
      return true;
    };
    const session = connect(options.origin, { ca: options.certificate.cert });
    const upload = session.request({
      ':method': 'PUT',
      ':path': API_PATH,
      cookie,
      'x-requested-with': 'test',
    });
    const start = 'x'.repeat(64 * 1024); // Cloakroom connects to the service only after receiving this much
    upload.write(start);
    await seen.promise;
    upload.end(' and more');
    expect([await text(upload), await whole.promise]).toEqual(['got it', `${start} and more`]);
    session.close();
  });

  test('an upload that is too large is refused before its body is read', async () => {
    const upload = begin('PUT', { 'content-length': MAX_BODY_BYTES + 1 }).on('error', () => {});
    upload.write('x');
    expect(await problemOf(await responseTo(upload))).toEqual([413, 'body_too_large']);
    upload.destroy();
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('an upload without a session gets a 401 before its body is read', async () => {
    const upload = begin('PUT', { cookie: '', 'content-length': 20 * MIB }).on('error', () => {});
    // Do not send the rest of the body, because writing to a closed connection can lose the response (RFC 9112, section 9.6).
    upload.write(Buffer.alloc(MIB));
    expect(await problemOf(await responseTo(upload))).toEqual([401, 'sign_in_required']);
    upload.destroy();
  });

  test('a response is streamed as the service sends it', async () => {
    const sent = createDeferred<{ write(text: string): void; end(): void }>();
    testApp.intercept = (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
      sent.resolve(res);
      return true;
    };
    const response = await get();
    const service = await sent.promise;
    const parts = response.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
    for (const next of ['two', 'three', '']) {
      expect((await parts.next()).value).toMatch(/^data: \w+\n\n$/);
      if (next === '') service.end();
      else service.write(`data: ${next}\n\n`);
    }
    expect((await parts.next()).done).toBe(true);
  });

  test.each(name === 'Caddy' && isOldCaddy() ? [WITH_LENGTH] : [WITH_LENGTH, {}])(
    'a response that is cut off does not look complete (%j)',
    async (headers) => {
      const started = createDeferred<IncomingMessage['socket']>();
      testApp.intercept = (req, res) => {
        res.writeHead(200, headers).write('not all of');
        started.resolve(req.socket);
        return true;
      };
      const response = await get();
      await once(response, 'readable');
      (await started.promise).destroy();
      await expect(text(response)).rejects.toThrow('aborted');
    },
  );

  test('a request cancelled by the browser is cancelled at the service', async () => {
    const [arrived, cancelled] = [createDeferred<void>(), createDeferred<void>()];
    testApp.intercept = (_req, res) => {
      res.once('close', () => cancelled.resolve());
      arrived.resolve();
      return true;
    };
    const req = begin('GET').on('error', () => {});
    req.end();
    await arrived.promise;
    req.destroy();
    await expect(cancelled.promise).resolves.toBeUndefined();
  });

  test('a response reaches the browser byte for byte, and its headers do not control the reverse proxy', async () => {
    const body = 'a page that is not compressed. '.repeat(200);
    const given = {
      'content-type': 'text/html',
      'content-length': String(body.length),
      date: 'Sat, 01 Jan 2022 00:00:00 GMT',
    };
    const steering = {
      'x-accel-redirect': '/healthz',
      'x-accel-limit-rate': '1',
      'x-sendfile': '/etc/passwd',
      server: 'theirs',
    };
    testApp.intercept = (_req, res) => Boolean(res.writeHead(200, { ...given, ...steering }).end(body));
    const response = await get({ 'accept-encoding': 'gzip' });
    expect(response.headers).toMatchObject(given);
    expect(await text(response)).toBe(body);
  });

  test('the reverse proxy does not add Accept-Encoding', async () => {
    await text(await get());
    expect(testApp.serviceRequests.map(({ headers }) => headers['accept-encoding'])).toEqual([undefined]);
  });

  test('a request with 101 header fields reaches Cloakroom, which refuses it', async () => {
    const headers = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`x-${at}`, 'y']));
    expect(await problemOf(await get(headers))).toEqual([431, 'too_many_headers']);
  });

  test(`${name} does not log queries, even for failed requests`, async () => {
    const place2 = await createReverseProxyOptions();
    await using lonely = await startProxy(place2, ['127.0.0.1:9']);
    const referer = `${place2.origin}/auth/callback?code=${SECRET}`;
    const response = await createFetch(place2)(`${place2.origin}/auth/callback?code=${SECRET}`, {
      headers: { referer },
    });
    expect([502, 503]).toContain(response.status);
    expect(await response.text()).not.toContain(SECRET);
    await eventually(async () => (await lonely.logged()).includes('/auth/callback'));
    expect(await lonely.logged()).not.toContain(SECRET);
  });
});
