import { once } from 'node:events';
import { Agent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, HOUR_MS, MIB, TOKEN_PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { requestsInFlight } from '../../support/metrics-app.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { useTestApp } from '../../support/fixtures.ts';

const testApp = useTestApp({ SERVICE_CONNECTIONS: '1', SERVICE_TIMEOUT_SECONDS: '1' });
let cookie: string;
let agent: Agent;

beforeEach(async () => {
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  ({ cookie } = await testApp.createSession());
});
afterEach(() => {
  agent.destroy();
  testApp.intercept = () => false;
});

function begin(method: string, fields: Record<string, string> = {}, origin = testApp.origin): ClientRequest {
  const headers = { cookie, 'x-requested-with': 'test', ...fields };
  return httpRequest(origin + PATH, { method, agent, headers });
}

async function responseTo(req: ClientRequest): Promise<{ status: number | undefined; body: string }> {
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  return { status: res.statusCode, body: await text(res) };
}

describe('an upload', () => {
  test('that stalls within its first 64 KiB is cut off, and the service receives no request', async () => {
    testApp.serviceRequests.length = 0;
    const upload = begin('POST', { 'content-length': '100000' });
    upload.write(Buffer.alloc(60_000));
    await expect(once(upload, 'response')).rejects.toThrow('socket hang up');
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('that exceeds MAX_BODY_BYTES within its first 64 KiB gets a 413', async () => {
    await using small = await startTestApp({ MAX_BODY_BYTES: '1000' });
    ({ cookie } = await small.createSession());
    const upload = begin('POST', { 'transfer-encoding': 'chunked' }, small.origin);
    upload.on('error', () => {}); // the connection may close before everything is sent
    upload.end(Buffer.alloc(2_000));
    expect(await responseTo(upload)).toMatchObject({ status: 413 });
    expect(small.serviceRequests).toEqual([]);
    agent.destroy();
  });

  test('that the service does not read gets a 504, however many interim responses the service sends', async () => {
    testApp.intercept = (req, res) => {
      req.pause();
      const more = setInterval(() => res.writeProcessing(), 200);
      return Boolean(res.once('close', () => clearInterval(more)));
    };
    const upload = begin('POST', { 'content-length': String(20 * MIB) });
    upload.on('error', () => {}); // the connection closes before everything is sent
    upload.end(Buffer.alloc(20 * MIB));
    const body = expect.stringContaining('service_timeout');
    expect(await responseTo(upload)).toEqual({ status: 504, body });
  });
});

describe('a download', () => {
  test('that the client does not read is cut off, which frees the connection to the service', async () => {
    let taken = 0;
    const freed = new Promise<void>((resolve) => {
      testApp.intercept = (_req, res) => {
        res.once('close', resolve);
        const pour = () => {
          while (taken < 64 && res.write(Buffer.alloc(MIB))) taken += 1;
        };
        pour();
        return Boolean(res.on('drain', pour));
      };
    });
    const [res] = (await once(begin('GET').end(), 'response')) as [IncomingMessage];
    res.pause().on('error', () => {});
    await freed;
    expect(taken).toBeLessThan(64);
    testApp.intercept = (_req, next) => Boolean(next.end('next'));
    expect(await responseTo(httpRequest(testApp.origin + PATH, { headers: { cookie } }).end())).toEqual({
      status: 200,
      body: 'next',
    });
    res.destroy();
  });
});

/** Starts an app that counts requests in flight, with a service that accepts uploads and refreshes tokens. */
async function startMeteredApp(): Promise<TestApp> {
  const metered = await startTestApp({ METRICS_PORT: '65000' });
  metered.intercept = (req, res) => {
    const isRefresh = req.url?.endsWith('/oauth2/token') === true;
    return Boolean(req.resume().once('end', () => res.end(isRefresh ? '{"access_token":"fresh"}' : 'taken')));
  };
  return metered;
}

const SESSIONS = 8;
const UPLOADS_PER_SESSION = 64;

test('uploads that arrive byte by byte do not occupy connections to the service', async () => {
  await using metered = await startMeteredApp();
  const sockets: Socket[] = [];
  for (let session = 0; session < SESSIONS; session += 1) {
    const { cookie: uploader } = await metered.createSession();
    for (let upload = 0; upload < UPLOADS_PER_SESSION; upload += 1) {
      const socket = connect(metered.config.port, '127.0.0.1').on('error', () => {});
      socket.write(
        `POST ${PATH} HTTP/1.1\r\nHost: x\r\nCookie: ${uploader}\r\nX-Requested-With: x\r\nContent-Length: 99\r\n\r\nx`,
      );
      sockets.push(socket);
    }
  }
  await eventually(async () => (await requestsInFlight(metered)) === SESSIONS * UPLOADS_PER_SESSION);
  const drip = setInterval(() => {
    for (const socket of sockets) socket.write('x');
  }, 100);
  try {
    for (let user = 0; user < 3; user += 1) {
      const { cookie: other } = await metered.createSession();
      const headers = { cookie: other, 'x-requested-with': 'x' };
      const init = { method: 'POST', body: 'whole', headers };
      for (const response of [
        await fetch(metered.origin + PATH, { headers }),
        await fetch(metered.origin + PATH, init),
      ])
        expect([response.status, await response.text()]).toEqual([200, 'taken']);
    }
    expect(metered.serviceRequests).toHaveLength(6);
  } finally {
    clearInterval(drip);
    for (const socket of sockets) socket.destroy();
  }
  await eventually(async () => (await requestsInFlight(metered)) === 0);
});

test('the gateway refreshes a token that expires while an upload is arriving, and sends the new token', async () => {
  await using metered = await startMeteredApp();
  const { cookie: session } = await metered.createSession();
  const headers = { cookie: session, 'x-requested-with': 'x', 'content-length': '2' };
  const upload = httpRequest(metered.origin + PATH, { method: 'POST', headers });
  upload.write('x');
  await eventually(async () => (await requestsInFlight(metered)) === 1);
  metered.advanceClock(HOUR_MS);
  expect(await responseTo(upload.end('x'))).toEqual({ status: 200, body: 'taken' });
  metered.advanceClock(-HOUR_MS);
  expect(metered.serviceRequests.map(({ url }) => url)).toEqual([TOKEN_PATH, PATH]);
  expect(metered.serviceRequests[1]?.headers.authorization).toBe('Bearer fresh');
});
