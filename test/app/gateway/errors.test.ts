import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from '../../support/browser.ts';
import { expectProblem, type ExpectedProblem } from '../../support/problem-responses.ts';
import { API_PATH as PATH, WORKSPACES_PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import type { RawEnd } from '../../support/raw-client.ts';
import { startRawApp, type RawApp } from '../../support/raw-app.ts';
import type { RawMessage } from '../../support/raw-message.ts';
import { ok } from '../../support/raw-service.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';

// A service that accepts connections, and what can go wrong with its responses.

let raw: RawApp;
/** For a service that is too slow: on a busy machine, other tests need more than its second. */
let impatient: RawApp;
beforeAll(async () => {
  raw = await startRawApp({ SERVICE_CONNECTIONS: '1' });
  impatient = await startRawApp({ SERVICE_CONNECTIONS: '1', SERVICE_TIMEOUT_SECONDS: '1' });
});
afterAll(async () => {
  await raw[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
});
beforeEach(() => {
  raw.service.answer = () => ok();
  impatient.service.answer = () => ok();
});

const UNREACHABLE = { status: 502, code: 'service_unreachable' };
const TIMEOUT = { status: 504, code: 'service_timeout' };
const OK = 'HTTP/1.1 200 OK\r\n';

/** Under jest, the log takes Node's own errors for other objects: unreachable.test.ts looks at what it says of them. */
const ANY = /"err":/;

/** Expects a problem in the response, and its cause in the log. */
async function expectAnswer(answer: RawMessage, cause: ExpectedProblem, at = raw): Promise<void> {
  const headers = Object.fromEntries(answer.fields.map(([name, value]) => [name.toLowerCase(), value]));
  const own = { status: Number(answer.start.slice(9, 12)), headers, body: answer.rest.toString() };
  await expectProblem(own, () => at.testApp.logged, cause);
}

/** Sends a request, and does this once the service has its head. */
async function callWhile(answer: (service: RawEnd) => void, at = raw) {
  const taken = at.service.takeNext().then((service) => {
    answer(service);
    return service;
  });
  const message = await at.send(`GET ${PATH}`);
  (await taken).socket.destroy();
  return message;
}

describe('service_unreachable is a service that', () => {
  test.each<[string, string | null, 'end' | 'reset', RegExp]>([
    ['resets the connection before its response', null, 'reset', ANY],
    ['closes the connection before its response', null, 'end', /other side closed/],
    ['resets the connection in the head of its response', `${OK}X-One`, 'reset', ANY],
    ['closes the connection in the head of its response', `${OK}X-One`, 'end', /other side closed/],
    ['sends what is not HTTP', 'SSH-2.0-OpenSSH\r\n', 'end', /HTTPParserError/],
    ['responds in HTTP/2', '\0\0\u0012\u0004\0\0\0\0\0', 'end', /HTTPParserError/],
    ['sends a line without a status', 'HTTP/1.1 OK\r\n\r\n', 'end', /HTTPParserError/],
    ['sends a field without a name', `${OK}: x\r\n\r\n`, 'end', /HTTPParserError/],
    ['sends a bare line feed', `${OK}X-One: 1\nX-Two: 2\r\n\r\n`, 'end', /HTTPParserError/],
    [
      'sends two lengths',
      `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      'end',
      /LENGTH_MISMATCH|HTTPParser/,
    ],
    [
      'sends length and chunks',
      `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'end',
      /LENGTH_MISMATCH|HTTPParser/,
    ],
    ['sends a head of 20 KB', `${OK}X-Long: ${'v'.repeat(20_000)}\r\n\r\n`, 'end', /HEADERS_OVERFLOW/],
    ['switches protocols unasked', 'HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n', 'end', ANY],
  ])('%s', async (_what, bytes, end, logged) => {
    const answer = await callWhile(({ socket }) => {
      const leave = () => (end === 'end' ? socket.end() : socket.resetAndDestroy());
      if (bytes === null) leave();
      else socket.write(bytes, 'latin1', leave);
    });
    await expectAnswer(answer, { ...UNREACHABLE, logged });
    expect((await raw.send(`GET ${PATH}`)).start).toBe('HTTP/1.1 200 OK');
  });
});

describe('service_timeout is', () => {
  test('a service that accepts the request and sends nothing', async () => {
    const answer = await callWhile(() => {}, impatient);
    const logged = /no response in time|UND_ERR_HEADERS_TIMEOUT/;
    await expectAnswer(answer, { ...TIMEOUT, logged }, impatient);
  });

  test('a service that never ends its head', async () => {
    const answer = await callWhile(({ socket }) => socket.write(`${OK}X-One: 1\r\n`), impatient);
    const logged = /no response in time|UND_ERR_HEADERS_TIMEOUT/;
    await expectAnswer(answer, { ...TIMEOUT, logged }, impatient);
  });

  test('no free connection in time', async () => {
    const { browser, service } = await impatient.begin(`GET ${PATH}`);
    service.socket.write(`${OK}Connection: close\r\n\r\n`);
    const drip = setInterval(() => service.socket.write('.'), 200);
    service.socket.once('close', () => clearInterval(drip));
    const answer = await impatient.send(`GET ${PATH}`);
    browser.socket.destroy();
    await service.over;
    await expectAnswer(answer, { ...TIMEOUT, logged: /no connection in time/ }, impatient);
  });
});

test('a service that falls silent in its response cuts the client off', async () => {
  const { browser, service } = await impatient.begin(`GET ${PATH}/silent`);
  service.socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`);
  await browser.until('half');
  await browser.over;
  expect(browser.text()).not.toMatch(/\r\n0\r\n/);
  await service.over;
  const line = () => impatient.testApp.logged.find((each) => each.includes(`${PATH}/silent`));
  await eventually(async () => line() !== undefined);
  expect(line()).toContain('"cutOff":true');
});

/** The table of docs/api.md, row by row; error causes are above. */
describe('a fault of the local service:', () => {
  let testApp: TestApp;
  let browser: Browser;
  beforeAll(async () => {
    testApp = await startTestApp({ LOCAL_SERVICE_FAULTS: 'true' });
  });
  afterAll(async () => {
    await testApp[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    ({ browser } = await testApp.signIn());
    testApp.advance(60_000); // a younger token is not refreshed after a 401
  });
  afterEach(async () => {
    await fetch(`${testApp.serviceOrigin}/_faults`, { method: 'DELETE' });
  });

  async function setFault(fields: string): Promise<void> {
    const body = new URLSearchParams(fields);
    const answer = await fetch(`${testApp.serviceOrigin}/_faults`, { method: 'POST', body });
    expect(answer.status).toBe(200);
  }

  const call = async (query = '') => browser.fetch(testApp.origin + WORKSPACES_PATH + query);

  function problemOf({ status, headers, text }: Page) {
    expect(headers.get('content-type')).toBe('application/problem+json');
    return { status, code: (JSON.parse(text) as { code: string }).code };
  }

  test('a status and its body are passed on', async () => {
    await setFault('route=workspaces&fault=status&status=500');
    const page = await call();
    expect(page.status).toBe(500);
    expect(page.headers.get('via')).toBe('1.1 cloakroom');
    expect(JSON.parse(page.text)).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
  });

  test('a 401 for one request is hidden: the token is refreshed and the request repeated', async () => {
    await setFault('route=workspaces&fault=status&status=401&calls=1');
    expect((await call()).status).toBe(200);
  });

  test('a second 401 is passed on', async () => {
    await setFault('route=workspaces&fault=status&status=401');
    const page = await call();
    expect(page.status).toBe(401);
    expect(page.headers.get('via')).toBe('1.1 cloakroom');
  });

  test('a rate limit is passed on with its Retry-After', async () => {
    await setFault('route=workspaces&fault=rate-limit&retryAfter=3');
    const page = await call();
    expect(page.status).toBe(429);
    expect(page.headers.get('retry-after')).toBe('3');
  });

  test.each(['reset-before', 'reset-after'])('%s is service_unreachable', async (fault) => {
    await setFault(`route=workspaces&fault=${fault}`);
    expect(problemOf(await call())).toEqual({ status: 502, code: 'service_unreachable' });
  });

  test('a response that is cut off is cut off for the client, too', async () => {
    await setFault('route=workspaces&fault=cut');
    await expect(call()).rejects.toThrow('terminated');
  });

  test('a revoked access token is refreshed, and the client sees nothing of it', async () => {
    await setFault('route=workspaces&fault=access-token-revoked&calls=1');
    expect((await call()).status).toBe(200);
  });

  test('a revoked grant ends the session', async () => {
    await setFault('route=workspaces&fault=grant-revoked&calls=1');
    expect(problemOf(await call())).toEqual({ status: 401, code: 'session_expired' });
  });

  test('a failed refresh is token_endpoint_unavailable, and the session stays', async () => {
    await setFault('route=workspaces&fault=access-token-revoked&calls=1');
    await setFault('route=token&fault=status&status=503&calls=1');
    const page = await call();
    expect(problemOf(page)).toEqual({ status: 503, code: 'token_endpoint_unavailable' });
    expect(page.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(JSON.parse((await browser.fetch(`${testApp.origin}/auth/session`)).text)).toMatchObject({
      signedIn: true,
    });
  });

  test('the 400 for an expired cursor is passed on', async () => {
    const { next } = JSON.parse((await call('?limit=2')).text) as { next: string };
    await setFault('route=workspaces&fault=next-expired&calls=1');
    const page = await call(`?limit=2&next=${next}`);
    expect(page.status).toBe(400);
    expect(JSON.parse(page.text)).toMatchObject({ code: 'NEXT_TOKEN_EXPIRED' });
  });
});
