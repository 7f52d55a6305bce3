import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { expectCause } from '../../support/causes.ts';
import type { Cause } from '../../support/causes.ts';
import { API_PATH as PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import type { RawEnd } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import type { RawApp } from '../../support/raw-app.ts';
import type { RawMessage } from '../../support/raw-message.ts';
import { ok } from '../../support/raw-service.ts';

// A service that is there, and what can go wrong with its answer.

let raw: RawApp;
/** For a service that takes too long: on a busy machine others may need a second, too. */
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

/** Under jest an error of Node's own is none to the log; what it says of them is seen in unreachable.test.ts. */
const ANY = /"err":/;

/** That the answer to a call and the log say this cause. */
async function expectAnswer(answer: RawMessage, cause: Cause, at = raw): Promise<void> {
  const headers = Object.fromEntries(answer.fields.map(([name, value]) => [name.toLowerCase(), value]));
  const own = { status: Number(answer.start.slice(9, 12)), headers, body: answer.rest.toString() };
  await expectCause(own, () => at.testApp.logged, cause);
}

/** A call whose service does this once it has the head. */
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
    ['resets the connection before its answer', null, 'reset', ANY],
    ['closes the connection before its answer', null, 'end', /other side closed/],
    ['resets the connection in the head of its answer', `${OK}X-One`, 'reset', ANY],
    ['closes the connection in the head of its answer', `${OK}X-One`, 'end', /other side closed/],
    ['answers what is not HTTP', 'SSH-2.0-OpenSSH\r\n', 'end', /HTTPParserError/],
    ['answers in HTTP/2', '\0\0\u0012\u0004\0\0\0\0\0', 'end', /HTTPParserError/],
    ['answers a line without a status', 'HTTP/1.1 OK\r\n\r\n', 'end', /HTTPParserError/],
    ['answers a field without a name', `${OK}: x\r\n\r\n`, 'end', /HTTPParserError/],
    ['answers with a line feed alone', `${OK}X-One: 1\nX-Two: 2\r\n\r\n`, 'end', /HTTPParserError/],
    [
      'says two lengths',
      `${OK}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      'end',
      /LENGTH_MISMATCH|HTTPParser/,
    ],
    [
      'says length and chunks',
      `${OK}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'end',
      /LENGTH_MISMATCH|HTTPParser/,
    ],
    ['answers with a head of 20 KB', `${OK}X-Long: ${'v'.repeat(20_000)}\r\n\r\n`, 'end', /HEADERS_OVERFLOW/],
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
  test('a service that takes the call and says nothing', async () => {
    const answer = await callWhile(() => {}, impatient);
    const logged = /no response in time|UND_ERR_HEADERS_TIMEOUT/;
    await expectAnswer(answer, { ...TIMEOUT, logged }, impatient);
  });

  test('a service that never comes to the end of its head', async () => {
    const answer = await callWhile(({ socket }) => socket.write(`${OK}X-One: 1\r\n`), impatient);
    const logged = /no response in time|UND_ERR_HEADERS_TIMEOUT/;
    await expectAnswer(answer, { ...TIMEOUT, logged }, impatient);
  });

  test('no connection that is free in time', async () => {
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

test('a service that falls silent in its answer cuts the browser off', async () => {
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
