import type { Socket } from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { createCertificate } from '../../support/certificate.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import {
  createFetch,
  createReverseProxyOptions,
  isUp,
  openTls,
  type ReverseProxyOptions,
} from '../../support/reverse-proxies/reverse-proxy.ts';
import { eventually } from '../../support/eventually.ts';
import { valuesOf } from '../../support/raw-message.ts';
import {
  okAndClose,
  ok,
  startRawService,
  type RawRequest,
  type RawService,
} from '../../support/raw-service.ts';
import { REVERSE_PROXIES } from './reverse-proxies.ts';

const REQUESTS = 8;
const UNSAFE = ['POST', 'PUT', 'PATCH', 'DELETE'];

const isCheck = ({ start }: RawRequest) => start.startsWith('GET /readyz');

// Raw services stand in for the Cloakroom processes. A raw service records each byte and can fail like a broken process.
describe.each(REVERSE_PROXIES)('%s in front of several processes', (name, startProxy) => {
  const started: AsyncDisposable[] = [];
  let options: ReverseProxyOptions;
  let send: (method: string, path?: string, init?: RequestInit) => Promise<Response>;
  beforeEach(async () => {
    options = await createReverseProxyOptions();
    const fetchFrom = createFetch(options);
    send = async (method, path = '/api/x', init = {}) =>
      fetchFrom(options.origin + path, { method, ...init });
  });
  afterAll(async () => {
    for (const each of started.toReversed()) await each[Symbol.asyncDispose]();
  });

  /** Starts a process that reports that it is ready. `answer` responds to all requests except health checks. */
  const startProcess = async (answer: RawService['respond'] = () => ok('hello')): Promise<RawService> => {
    const service = await startRawService();
    service.respond = (request, socket) => (isCheck(request) ? okAndClose() : answer(request, socket));
    started.push(service);
    return service;
  };
  const startBefore = async (...processes: (RawService | { readonly host: string })[]) => {
    const hosts = processes.map(({ host }) => host);
    started.push(await startProxy(options, hosts));
  };
  const apiRequestsTo = ({ requests }: RawService) => requests.filter((request) => !isCheck(request));

  test('a stopped process receives no requests', async () => {
    const [one, stopped] = [await startProcess(), { host: `127.0.0.1:${await freePort()}` }];
    await startBefore(stopped, one);
    for (const method of ['GET', 'POST']) {
      for (let at = 0; at < REQUESTS; at += 1) expect((await send(method)).status).toBe(200);
    }
    expect(apiRequestsTo(one)).toHaveLength(2 * REQUESTS);
  });

  test('requests with a body to a stopped process do not take a running process out of rotation', async () => {
    const [one, stopped] = [await startProcess(), await startProcess()];
    await startBefore(stopped, one);
    // Caddy checks once for each of its two routes. Stop the process just after a round, so that the requests precede the next one.
    await eventually(async () => name === 'nginx' || one.requests.filter(isCheck).length >= 4);
    await stopped[Symbol.asyncDispose]();
    for (let at = 0; at < REQUESTS; at += 1) await send('PUT', '/api/x', { body: 'whole' });
    for (let at = 0; at < REQUESTS; at += 1) expect((await send('GET')).status).toBe(200);
  });

  test('a GET that gets no response from one process is sent to another process', async () => {
    const dying = await startProcess((_request, socket) => {
      socket.destroy();
      return null;
    });
    const running = await startProcess();
    await startBefore(dying, running);
    while (apiRequestsTo(dying).length === 0) expect((await send('GET')).status).toBe(200);
  });

  test.each(UNSAFE)(
    'a %s that gets no response from one process ends with 502 and is not sent to another process',
    async (method) => {
      let taken = 0;
      const die: RawService['respond'] = (_request, socket) => {
        taken += 1;
        socket.destroy();
        return null;
      };
      await startBefore(await startProcess(die), await startProcess(die));
      const { status } = await send(method, '/api/x', method === 'DELETE' ? {} : { body: 'once' });
      expect([status, taken]).toEqual([502, 1]);
    },
  );

  test('a request that gets an error status is not retried', async () => {
    let requests = 0;
    const refuse = () => {
      requests += 1;
      return ok('away')
        .replace('200 OK', '503 Service Unavailable')
        .replace('\r\n', '\r\nRetry-After: 5\r\n');
    };
    await startBefore(await startProcess(refuse), await startProcess(refuse));
    const response = await send('GET');
    expect([response.status, response.headers.get('retry-after'), await response.text()]).toEqual([
      503,
      '5',
      'away',
    ]);
    expect(requests).toBe(1);
  });

  test('GET requests share a connection, but other requests do not', async () => {
    const ports: (number | undefined)[] = [];
    const process = await startProcess((_request, socket) => {
      ports.push(socket.remotePort);
      return ok('hello');
    });
    await startBefore(process);
    for (const method of ['GET', 'GET', 'POST', 'PUT', 'GET', 'DELETE']) await (await send(method)).text();
    const [first, second, post, put, third, del] = ports;
    expect([second, third]).toEqual([first, first]);
    expect(new Set([first, post, put, del]).size).toBe(4);
  });

  test('a process receives the client address and scheme only from the reverse proxy', async () => {
    const process = await startProcess();
    await startBefore(process);
    const claims = {
      'x-forwarded-for': '203.0.113.9, 198.51.100.7',
      'x-forwarded-proto': 'gopher',
      forwarded: 'for=203.0.113.9',
      x_of_theirs: 'kept',
    };
    await send('GET', '/api/x', { headers: claims });
    const [request] = apiRequestsTo(process) as [RawRequest];
    expect(valuesOf(request, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(valuesOf(request, 'x-forwarded-proto')).toEqual(['https']);
    expect(valuesOf(request, 'forwarded')).toEqual([]);
    expect(valuesOf(request, 'x_of_theirs')).toEqual(['kept']);
  });

  test('an upgrade is not forwarded, and the request gets a normal response', async () => {
    const process = await startProcess();
    await startBefore(process);
    const end = await openTls(options);
    const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
    end.socket.write(`GET /api/x HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n\r\n`);
    await end.closed;
    expect(end.text()).toMatch(/^HTTP\/1\.1 200 /);
    const [request] = apiRequestsTo(process) as [RawRequest];
    expect(valuesOf(request, 'upgrade')).toEqual([]);
  });

  test('while no process is ready, requests still reach a process', async () => {
    const process = await startRawService();
    started.push(process);
    process.respond = (request) =>
      isCheck(request) ? okAndClose().replace('200 OK', '503 Not Ready') : ok('hello');
    await startBefore(process);
    const hasChecks = name === 'Caddy'; // nginx does not send health checks
    await eventually(async () => !hasChecks || process.requests.filter(isCheck).length > 3);
    expect(await (await send('GET')).text()).toBe('hello');
    expect(await (await send('PUT', '/api/x', { body: 'whole' })).text()).toBe('hello');
    expect(apiRequestsTo(process).map(({ body }) => body.toString())).toEqual(['', 'whole']);
  });

  test('without a running process, the error page does not reveal an address or version', async () => {
    await startBefore({ host: `127.0.0.1:${await freePort()}` }, { host: `127.0.0.1:${await freePort()}` });
    const response = await send('GET');
    expect([502, 503]).toContain(response.status);
    expect(await response.text()).not.toMatch(/127\.0\.0\.1|\d\.\d/);
  });
});

test.each(REVERSE_PROXIES)(
  '%s serves a new certificate after a reload, and a request in flight completes',
  async (_name, startProxy) => {
    const options = await createReverseProxyOptions();
    await using cloakroom = await startRawService();
    await using proxy = await startProxy(options, [cloakroom.host]);
    const received = createDeferred<Socket>();
    cloakroom.respond = ({ start }, socket) => {
      if (!start.startsWith('POST')) return ok('ready');
      received.resolve(socket);
      return null;
    };
    const pending = createFetch(options)(options.origin, { method: 'POST' });
    const socket = await received.promise;

    const replaced = { ...options, certificate: createCertificate('localhost') };
    await proxy.changeCertificate(replaced.certificate);
    await eventually(async () => isUp(replaced));
    socket.write(ok('still here'));
    expect(await (await pending).text()).toBe('still here');
  },
);
