import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { AppError } from '../../../src/errors.ts';
import { createAccessLog, createRequestMetrics, type LoggedRequest } from '../../../src/http/access-log.ts';
import { sendProblem } from '../../../src/http/problem.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { ROUTES } from '../../../src/routes.ts';
import { startHttpServer } from '../../support/http-server.ts';

type Target = readonly [method: string, target: string, status?: number];

/**
 * Sends requests one after another, each on a new connection. Resolves with the responses, the log lines and the number of bytes
 * that the client received for the last request.
 */
async function logRequests(
  targets: readonly Target[],
  options: {
    level?: string;
    registry?: Registry;
    respond?: RequestListener;
    known?: Partial<LoggedRequest>;
  } = {},
) {
  const {
    level = 'info',
    registry = new Registry(),
    respond = (_req, res) => void res.end(),
    known,
  } = options;
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => lines.push(line) });
  const metrics = createRequestMetrics(registry, ROUTES);
  const accessLog = createAccessLog({ log, toRoute: () => '/workspaces', metrics });
  let status: number | undefined;
  const server = await startHttpServer((req, res) => {
    Object.assign(accessLog.track(req, res, req.url ?? ''), known);
    if (status === 0) res.destroy();
    else if (status === undefined) respond(req, res);
    else res.writeHead(status).end();
  });
  const received: string[] = [];
  let bytesReceived = 0;
  for (const [method, target, next] of targets) {
    status = next;
    const socket = connect(server.port, '127.0.0.1');
    socket.write(
      Buffer.from(`${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 'latin1'),
    );
    received.push(await text(socket));
    bytesReceived = socket.bytesRead;
  }
  await server[Symbol.asyncDispose]();
  return {
    received,
    bytesReceived,
    lines,
    entries: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

describe('the log line for a request', () => {
  test('omits the query and the fragment from the path, even if their delimiters are encoded', async () => {
    const targets = ['/a/b?c=d', '/a/b#c', '/a/b%3Fc=d', '/a/b%3fc=d', '/a/b%23c', '/a/b%23c?d'];
    const { entries } = await logRequests(targets.map((target) => ['GET', target]));
    expect(entries.map(({ path }) => path)).toEqual(targets.map(() => '/a/b'));
  });

  test('is one line of JSON with its members in a fixed order', async () => {
    const { lines, entries, received } = await logRequests([['GET', '/a/b?secret=1', 204]]);
    expect(lines).toEqual([expect.stringMatching(/^[^\n]*\}\n$/)]);
    const [entry = {}] = entries;
    const names = 'level time requestId client method path route status ms bytes msg';
    expect(Object.keys(entry)).toEqual(names.split(' '));
    expect(entry).toMatchObject({
      level: 'info',
      requestId: /^x-request-id: (.*)\r$/im.exec(received[0] ?? '')?.[1],
      client: '127.0.0.1',
      method: 'GET',
      path: '/a/b',
      route: '/workspaces',
      status: 204,
      msg: 'request',
    });
    expect(Math.abs(Date.now() - Number(entry['time']))).toBeLessThan(60_000);
    expect(Number.isInteger(entry['ms'])).toBe(true);
  });

  test('keeps quotation marks, backslashes and percent-encodings in the path unchanged', async () => {
    const targets = ['/a"b","status":"500', '/a\\"b\\', '/a/%C3%A9%20%2F%25%252f'];
    const { entries } = await logRequests(targets.map((target) => ['GET', target]));
    expect(entries).toMatchObject(targets.map((path) => ({ path, status: 200, msg: 'request' })));
  });

  test.each<[string, string, RequestListener]>([
    ['a body with a Content-Length', 'GET', (_req, res) => res.end('é')],
    ['a chunked body', 'GET', (_req, res) => res.write(Buffer.alloc(5)) && res.end('é')],
    ['a response without a body', 'HEAD', (_req, res) => res.end('a body')],
  ])('counts the bytes that the client receives (%s)', async (_what, method, respond) => {
    const { entries, bytesReceived } = await logRequests([[method, '/']], { respond });
    expect(entries).toMatchObject([{ bytes: bytesReceived }]);
  });

  test('contains the session log id, the token state and the duration of each phase', async () => {
    const session = { session: 'abcdefghijklmnop', token: 'refreshed' as const, bytesIn: 3 };
    const times = { session: 0.26, token: 0, service: 1_234.56 };
    const { entries } = await logRequests([['GET', '/a']], { known: { ...session, times } });
    expect(entries).toMatchObject([{ ...session, sessionMs: 0.3, serviceMs: 1_234.6 }]);
    expect(entries[0]).not.toHaveProperty('tokenMs');
  });

  test('is not written at log level warn, where only a failed request writes a warning', async () => {
    const respond: RequestListener = (_req, res) => sendProblem(res, new AppError('too_busy'));
    const { entries } = await logRequests([['GET', '/a']], { level: 'warn', respond });
    expect(entries).toMatchObject([{ level: 'warn', code: 'too_busy', msg: 'request failed' }]);
  });
});

describe('a health check', () => {
  const READY: Target = ['GET', '/readyz', 200];
  const summarize = ({ entries }: Awaited<ReturnType<typeof logRequests>>) =>
    entries.map(({ level, path, status = 'none' }) => [level, path, status].join(' '));

  test('that succeeds is not logged if the previous check succeeded', async () => {
    const get = ['/healthz', '/readyz?of=a-load-balancer'].map((path): Target => ['GET', path, 200]);
    const head = ['/readyz', '/healthz?'].map((path): Target => ['HEAD', path, 200]);
    const round = [READY, ...get, ...head];
    const logged = await logRequests([...round, ...round]);
    expect(summarize(logged)).toEqual(['info /readyz 200', 'info /healthz 200']);
  });

  test('that fails is logged, and so is the next successful check', async () => {
    const statuses = [200, 200, 503, 503, 200, 200, 0, 200, 200];
    const logged = await logRequests(statuses.map((status) => ['GET', '/readyz', status]));
    const written = summarize(logged).map((line) => line.split(' ').at(-1));
    expect(written).toEqual(['200', '503', '503', '200', 'none', '200']);
  });

  test('that fails does not affect how another path is logged', async () => {
    const healthy: Target = ['GET', '/healthz', 200];
    const logged = await logRequests([healthy, ['GET', '/readyz', 503], healthy]);
    expect(summarize(logged)).toEqual(['info /healthz 200', 'info /readyz 503']);
  });

  test('is recognised by its method and exact path, so every other request is logged', async () => {
    const paths = ['/', '/healthz/inside', '/readyzed', '/api/readyz', '/Readyz'];
    const others: Target[] = [['POST', '/readyz', 200], ...paths.map((path): Target => ['GET', path, 200])];
    expect((await logRequests([...others, ...others])).lines).toHaveLength(12);
  });

  test('is logged every time at log level debug', async () => {
    const logged = await logRequests([READY, READY, READY], { level: 'debug' });
    expect(summarize(logged)).toEqual(['info /readyz 200', 'debug /readyz 200', 'debug /readyz 200']);
  });

  test('is counted in the metrics even if it is not logged', async () => {
    const registry = new Registry();
    await logRequests([READY, READY, READY], { registry });
    expect(await registry.metrics()).toMatch(/^cloakroom_request_duration_seconds_count\{[^}]*\} 3$/m);
  });
});
