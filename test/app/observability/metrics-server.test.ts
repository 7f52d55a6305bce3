import { expect, test } from '@jest/globals';
import { Gauge, Registry } from 'prom-client';
import { bindPort } from '../../../src/http/listening.ts';
import { startMetricsServer } from '../../../src/observability/metrics-server.ts';
import { eventually } from '../../support/eventually.ts';
import { openConnection } from '../../support/raw-client.ts';

const REQUEST = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n';

/** Serves one metric, which counts how often it is collected. Each collection waits for `go()`. */
async function serve() {
  let gathered = 0;
  let go = () => {};
  const started = new Promise<void>((resolve) => (go = resolve));
  const registry = new Registry();
  const gauge = new Gauge({
    name: 'gathered',
    help: 'How often.',
    registers: [registry],
    async collect() {
      gathered += 1;
      await started;
      gauge.set(gathered);
    },
  });
  const server = await startMetricsServer(registry, await bindPort('127.0.0.1', 0));
  return {
    go,
    gathered: () => gathered,
    port: Number(new URL(server.url).port),
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

test('only the first of a thousand pipelined requests gets a response', async () => {
  await using served = await serve();
  served.go();
  const client = await openConnection(served.port);
  client.socket.write(REQUEST.repeat(1_000));
  expect(await client.closed).toBe('end');
  expect(client.text().match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  expect(client.text()).toMatch(/^connection: close\r$/im);
  expect(client.text()).toMatch(/^gathered 1$/m);
  expect(served.gathered()).toBe(1);
});

test('requests during a collection share its result, and the next request starts a new collection', async () => {
  await using served = await serve();
  const together = await Promise.all(Array.from({ length: 5 }, async () => openConnection(served.port)));
  for (const client of together) client.socket.write(REQUEST);
  const compressed = await openConnection(served.port);
  compressed.socket.write(REQUEST.replace('x', 'x\r\nAccept-Encoding: gzip'));
  await eventually(async () => served.gathered() > 0);
  // Once this last request has a response, the server has read all the other requests.
  const other = await openConnection(served.port);
  other.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await other.closed;
  served.go();
  await Promise.all(together.map(async (client) => client.until(/^gathered 1$/m)));
  await compressed.until('content-encoding: gzip');
  const next = await openConnection(served.port);
  next.socket.write(REQUEST);
  expect(await next.until(/^gathered 2$/m)).toMatch(/^HTTP\/1\.1 200 /);
});

test.each([
  ['gzip', 'gzip'],
  ['deflate, GZIP ; q=0.5', 'gzip'],
  ['br, xgzip', null],
  ['*, gzip;q=0', null],
  ['gzip ; q=0.00, br', null],
])('a request with Accept-Encoding: %s gets the Content-Encoding %s', async (accepted, encoding) => {
  await using served = await serve();
  served.go();
  const headers = { 'accept-encoding': accepted };
  const response = await fetch(`http://127.0.0.1:${served.port}/metrics`, { headers });
  expect(await response.text()).toMatch(/^gathered 1$/m);
  expect(response.headers.get('content-encoding')).toBe(encoding);
  expect(response.headers.get('vary')).toBe('Accept-Encoding');
});

test('the server keeps at most 16 of a hundred connections open and accepts new connections once those have closed', async () => {
  await using served = await serve();
  served.go();
  let closed = 0;
  const clients = await Promise.all(Array.from({ length: 100 }, async () => openConnection(served.port)));
  for (const client of clients) void client.closed.then(() => (closed += 1));
  await eventually(async () => closed >= 84);
  expect(closed).toBe(84);
  for (const client of clients) client.socket.destroy();
  await eventually(async () => closed === 100);
  await eventually(async () => {
    const next = await openConnection(served.port);
    next.socket.write(REQUEST);
    await next.closed;
    return next.text().startsWith('HTTP/1.1 200 ');
  });
});
