import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { createLog } from '../../../src/observability/logger.ts';
import { createAccessLog, createRequestMetrics } from '../../../src/http/access-log.ts';
import { ROUTES } from '../../../src/routes.ts';

type Ask = readonly [method: string, target: string, status: number];

const READY: Ask = ['GET', '/readyz', 200];
const THREE_TIMES = [READY, READY, READY];

/** Answers these one after the other, and resolves with the lines that are logged meanwhile. */
async function linesOf(asked: readonly Ask[], level = 'info', registry = new Registry()): Promise<string[]> {
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => lines.push(line) });
  const accessLog = createAccessLog({ log, metrics: createRequestMetrics(registry, ROUTES) });
  const server = createServer((req, res) => {
    accessLog.track(req, res, req.url ?? '');
    if (req.headers['answer-with'] === '0') res.destroy();
    else res.writeHead(Number(req.headers['answer-with'])).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (const [method, path, status] of asked) {
    const headers = { 'answer-with': String(status) };
    const sent = request({ port, host: '127.0.0.1', method, path, headers, agent: false }).end();
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
    await answered.then(async ([answer]) => once(answer.resume(), 'close')).catch(() => {});
  }
  server.close();
  await once(server, 'close');
  return lines;
}

const told = (lines: readonly string[]) =>
  lines.map((line) => {
    const { level, path, status = 'none' } = JSON.parse(line) as Record<string, unknown>;
    return `${String(level)} ${String(path)} ${String(status)}`;
  });

test('probes that go well have one line, the first', async () => {
  const round: Ask[] = [
    ['GET', '/readyz', 200],
    ['GET', '/healthz', 200],
    ['HEAD', '/readyz', 200],
    ['GET', '/readyz?of=balancer', 200],
    ['HEAD', '/healthz?', 200],
  ];
  expect(told(await linesOf([...round, ...round]))).toEqual(['info /readyz 200', 'info /healthz 200']);
});

test('each probe that fails has a line, and the first that goes well again', async () => {
  const statuses = [200, 200, 503, 503, 200, 200, 0, 200, 200];
  const lines = await linesOf(statuses.map((status) => ['GET', '/readyz', status]));
  expect(told(lines).map((line) => line.split(' ').at(-1))).toEqual([
    '200',
    '503',
    '503',
    '200',
    'none',
    '200',
  ]);
});

test('one address is no news of the other', async () => {
  const lines = await linesOf([
    ['GET', '/healthz', 200],
    ['GET', '/readyz', 503],
    ['GET', '/healthz', 200],
  ]);
  expect(told(lines)).toEqual(['info /healthz 200', 'info /readyz 503']);
});

test('only probes go without a line: whatever else is asked has one each time', async () => {
  const others: Ask[] = [
    ['GET', '/', 200],
    ['GET', '/healthz/inside', 200],
    ['GET', '/readyzed', 200],
    ['GET', '/api/readyz', 200],
    ['POST', '/readyz', 200],
    ['GET', '/Readyz', 200],
  ];
  expect(await linesOf([...others, ...others])).toHaveLength(12);
});

test('who debugs sees them all', async () => {
  const lines = await linesOf(THREE_TIMES, 'debug');
  expect(told(lines)).toEqual(['info /readyz 200', 'debug /readyz 200', 'debug /readyz 200']);
});

test('they are counted all the same', async () => {
  const registry = new Registry();
  await linesOf(THREE_TIMES, 'info', registry);
  expect(await registry.metrics()).toMatch(/^cloakroom_request_duration_seconds_count\{[^}]*\} 3$/m);
});
