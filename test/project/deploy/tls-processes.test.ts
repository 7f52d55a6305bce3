import type { Socket } from 'node:net';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { createCertificate } from '../../support/certificate.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { createFetch, createPlace, isUp, openTls, type Place } from '../../support/fronts/front.ts';
import { startCaddy } from '../../support/fronts/caddy.ts';
import { startNginx } from '../../support/fronts/nginx.ts';
import { eventually } from '../../support/eventually.ts';
import { valuesOf } from '../../support/raw-message.ts';
import { last, ok, startRawService, type RawRequest, type RawService } from '../../support/raw-service.ts';

const CALLS = 8;
const UNSAFE = ['POST', 'PUT', 'PATCH', 'DELETE'];

const isCheck = ({ start }: RawRequest) => start.startsWith('GET /readyz');

// In the place of Cloakroom's processes stand some that see each byte that comes, and do what a broken one does.
describe.each([
  ['nginx', startNginx],
  ['Caddy', startCaddy],
])('%s before several processes', (name, startFront) => {
  const started: AsyncDisposable[] = [];
  let place: Place;
  let call: (method: string, path?: string, init?: RequestInit) => Promise<Response>;
  beforeEach(async () => {
    place = await createPlace();
    const send = createFetch(place);
    call = async (method, path = '/api/x', init = {}) => send(place.origin + path, { method, ...init });
  });
  afterAll(async () => {
    for (const each of started.toReversed()) await each[Symbol.asyncDispose]();
  });

  /** A process that is ready, and has `answer` for everything else. */
  const startProcess = async (answer: RawService['answer'] = () => ok('hello')): Promise<RawService> => {
    const service = await startRawService();
    service.answer = (request, socket) => (isCheck(request) ? last() : answer(request, socket));
    started.push(service);
    return service;
  };
  const startBefore = async (...processes: (RawService | { readonly host: string })[]) => {
    const front = await startFront(
      place,
      processes.map(({ host }) => host),
    );
    started.push(front);
    return front;
  };
  const callsOf = ({ requests }: RawService) => requests.filter((request) => !isCheck(request));

  test('a process that has stopped is passed by', async () => {
    const [one, stopped] = [await startProcess(), { host: `127.0.0.1:${await freePort()}` }];
    await startBefore(stopped, one);
    for (const method of ['GET', 'POST']) {
      for (let at = 0; at < CALLS; at += 1) expect((await call(method)).status).toBe(200);
    }
    expect(callsOf(one)).toHaveLength(2 * CALLS);
  });

  test('a read that a process took and never answered is answered by another', async () => {
    const dying = await startProcess((_request, socket) => {
      socket.destroy();
      return null;
    });
    const living = await startProcess();
    await startBefore(dying, living);
    for (let at = 0; at < CALLS; at += 1) expect((await call('GET')).status).toBe(200);
    expect(callsOf(dying).length).toBeGreaterThan(0);
  });

  test.each(UNSAFE)(
    'a %s that a process took and never answered is a 502, and sent to nobody else',
    async (method) => {
      let taken = 0;
      const die: RawService['answer'] = (_request, socket) => {
        taken += 1;
        socket.destroy();
        return null;
      };
      await startBefore(await startProcess(die), await startProcess(die));
      const { status } = await call(method, '/api/x', method === 'DELETE' ? {} : { body: 'once' });
      expect([status, taken]).toEqual([502, 1]);
    },
  );

  test('no status is tried again', async () => {
    let asked = 0;
    const refuse = () => {
      asked += 1;
      return ok('away')
        .replace('200 OK', '503 Service Unavailable')
        .replace('\r\n', '\r\nRetry-After: 5\r\n');
    };
    await startBefore(await startProcess(refuse), await startProcess(refuse));
    const answer = await call('GET');
    expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([
      503,
      '5',
      'away',
    ]);
    expect(asked).toBe(1);
  });

  test('reads share a connection, and nothing else does', async () => {
    const ports: (number | undefined)[] = [];
    const process = await startProcess((_request, socket) => {
      ports.push(socket.remotePort);
      return ok('hello');
    });
    await startBefore(process);
    for (const method of ['GET', 'GET', 'POST', 'PUT', 'GET', 'DELETE']) await (await call(method)).text();
    const [first, second, post, put, third, del] = ports;
    expect([second, third]).toEqual([first, first]);
    expect(new Set([first, post, put, del]).size).toBe(4);
  });

  test('a process hears who asks and by what scheme from the front alone', async () => {
    const process = await startProcess();
    await startBefore(process);
    const claims = {
      'x-forwarded-for': '203.0.113.9, 198.51.100.7',
      'x-forwarded-proto': 'gopher',
      forwarded: 'for=203.0.113.9',
      x_of_theirs: 'kept',
    };
    await call('GET', '/api/x', { headers: claims });
    const [request] = callsOf(process) as [RawRequest];
    expect(valuesOf(request, 'x-forwarded-for')).toEqual(['127.0.0.1']);
    expect(valuesOf(request, 'x-forwarded-proto')).toEqual(['https']);
    expect(valuesOf(request, 'forwarded')).toEqual([]);
    expect(valuesOf(request, 'x_of_theirs')).toEqual(['kept']);
  });

  test('no upgrade is asked for', async () => {
    const process = await startProcess();
    await startBefore(process);
    const { socket, over } = await openTls(place);
    const upgrade = 'Connection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
    socket.write(`GET /api/x HTTP/1.1\r\nHost: localhost\r\n${upgrade}\r\n\r\n`);
    await over;
    const [request] = callsOf(process) as [RawRequest];
    expect(valuesOf(request, 'upgrade')).toEqual([]);
  });

  test('no answer steers it', async () => {
    const steering = 'X-Accel-Redirect: /elsewhere\r\nX-Accel-Limit-Rate: 1\r\nX-Sendfile: /etc/passwd';
    const process = await startProcess(() => ok('hello').replace('\r\n', `\r\n${steering}\r\n`));
    await startBefore(process);
    expect(await (await call('GET')).text()).toBe('hello');
    expect(callsOf(process)).toHaveLength(1);
  });

  test('while none is ready it is a process that says so', async () => {
    const process = await startRawService();
    started.push(process);
    process.answer = (request) =>
      isCheck(request) ? last().replace('200 OK', '503 Not Ready') : ok('hello');
    await startBefore(process);
    const looksAfter = name === 'Caddy'; // nginx sends no checks of its own
    await eventually(async () => !looksAfter || process.requests.filter(isCheck).length > 3);
    expect(await (await call('GET')).text()).toBe('hello');
    expect(await (await call('PUT', '/api/x', { body: 'whole' })).text()).toBe('hello');
    expect(callsOf(process).map(({ body }) => body.toString())).toEqual(['', 'whole']);
  });

  test(`${name} says that none is there, and no more`, async () => {
    await startBefore({ host: `127.0.0.1:${await freePort()}` }, { host: `127.0.0.1:${await freePort()}` });
    const answer = await call('GET');
    expect([502, 503]).toContain(answer.status);
    expect(await answer.text()).not.toMatch(/127\.0\.0\.1|\d\.\d/);
  });
});

test.each([
  ['nginx', startNginx],
  ['Caddy', startCaddy],
])(
  '%s serves a new certificate after a reload, and a request in flight completes',
  async (_name, startFront) => {
    const place = await createPlace();
    await using cloakroom = await startRawService();
    await using front = await startFront(place, [cloakroom.host]);
    const asked = createDeferred<Socket>();
    cloakroom.answer = ({ start }, socket) => {
      if (!start.startsWith('POST')) return ok('ready');
      asked.resolve(socket);
      return null;
    };
    const call = createFetch(place)(place.origin, { method: 'POST' });
    const socket = await asked.promise;

    const replaced = { ...place, certificate: createCertificate('localhost') };
    await front.changeCertificate(replaced.certificate);
    await eventually(async () => isUp(replaced));
    socket.write(ok('still here'));
    expect(await (await call).text()).toBe('still here');
  },
);
