import { once } from 'node:events';
import { createServer, IncomingMessage, request, ServerResponse } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect, Socket } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { createLog, type Logger } from '../../../src/observability/logger.ts';
import { type RequestContext, requestId } from '../../../src/http/request-context.ts';
import { createAccessLog } from '../../../src/http/access-log.ts';

/** A server that logs each request as `level` lets it, and its port. */
async function startServer(level: string, answer: RequestListener, noted: Partial<RequestContext> = {}) {
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => lines.push(line) });
  const accessLog = createAccessLog({ log, toRoute: () => '/a/{b}' });
  const server = createServer((req, res) => {
    Object.assign(accessLog.track(req, res, req.url ?? ''), noted);
    answer(req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    lines,
    port: (server.address() as AddressInfo).port,
    server,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

type Started = Awaited<ReturnType<typeof startServer>>;

/** Sends a target as it stands, and resolves once its answer is over, with the request's id. */
async function call({ port, server }: Started, target: string): Promise<string> {
  const closed = new Promise<string>((resolve) => {
    server.once('request', (_req: IncomingMessage, res: ServerResponse) =>
      res.once('close', () => resolve(requestId(res))),
    );
  });
  const socket = connect(port, '127.0.0.1');
  socket.write(Buffer.from(`GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`, 'latin1'));
  socket.resume();
  await once(socket, 'close');
  return closed;
}

describe('the line of a request', () => {
  test.each(['/a/b?c=d', '/a/b#c', '/a/b%3Fc=d', '/a/b%3fc=d', '/a/b%23c', '/a/b%23c?d'])(
    'ends its path where a query or a fragment begins, encoded or not: %s',
    async (target) => {
      await using started = await startServer('info', (_req, res) => res.end());
      await call(started, target);
      expect(started.lines.map((line): unknown => JSON.parse(line))).toMatchObject([{ path: '/a/b' }]);
    },
  );

  test('has these members, in this order, and is one line of JSON', async () => {
    await using started = await startServer('info', (_req, res) => res.writeHead(204).end());
    const id = await call(started, '/a/b?secret=1');
    expect(started.lines).toHaveLength(1);
    const [line = ''] = started.lines;
    expect(line.endsWith('}\n')).toBe(true);
    expect(line.slice(0, -1)).not.toContain('\n');
    const members = JSON.parse(line) as Record<string, unknown>;
    expect(Object.keys(members)).toEqual([
      'level',
      'time',
      'requestId',
      'client',
      'method',
      'path',
      'route',
      'status',
      'ms',
      'bytes',
      'msg',
    ]);
    expect(members).toMatchObject({
      level: 'info',
      requestId: id,
      client: '127.0.0.1',
      method: 'GET',
      path: '/a/b',
      route: '/a/{b}',
      status: 204,
      msg: 'request',
    });
    expect(Math.abs(Date.now() - Number(members['time']))).toBeLessThan(60_000);
    expect(Number.isInteger(members['ms'])).toBe(true);
  });

  test.each([
    ['quotation marks', '/a"b","status":"500'],
    ['a backslash', '/a\\"b\\'],
    ['encoded letters and slashes', '/a/%C3%A9%20%2F%25%252f'],
  ])('holds a path with %s as it came', async (_what, target) => {
    await using started = await startServer('info', (_req, res) => res.end());
    await call(started, target);
    expect(JSON.parse(started.lines[0] ?? '')).toMatchObject({ path: target, status: 200, msg: 'request' });
  });

  test('says that an answer was cut off, and has no status before there was one', async () => {
    await using started = await startServer('info', (_req, res) => res.destroy());
    const asked = request({ port: started.port, host: '127.0.0.1', path: '/cut' }).end();
    await once(asked, 'error');
    expect(started.lines).toHaveLength(1);
    const members = JSON.parse(started.lines[0] ?? '') as object;
    expect(members).toMatchObject({ path: '/cut', cutOff: true });
    expect(members).not.toHaveProperty('status');
  });

  test.each<[string, string, RequestListener]>([
    ['a body with its length', 'GET', (_req, res) => res.end('é')],
    ['chunks', 'GET', (_req, res) => res.write(Buffer.alloc(5)) && res.end('é')],
    ['a head alone', 'HEAD', (_req, res) => res.end('a body')],
  ])('counts the bytes that the client receives: %s', async (_what, method, respond) => {
    await using started = await startServer('info', respond);
    const socket = connect(started.port, '127.0.0.1');
    socket.write(`${method} / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    await once(socket.resume(), 'close');
    expect(JSON.parse(started.lines[0] ?? '')).toMatchObject({ bytes: socket.bytesRead });
  });

  test('names the session and what became of its token, where somebody has noted that', async () => {
    const noted = { session: 'abcdefghijklmnop', token: 'renewed' } as const;
    await using started = await startServer('info', (_req, res) => res.end(), noted);
    await call(started, '/a');
    expect(JSON.parse(started.lines[0] ?? '')).toMatchObject(noted);
  });

  test('is not written where the log is for warnings', async () => {
    await using started = await startServer('warn', (_req, res) => res.end());
    await call(started, '/a');
    expect(started.lines).toEqual([]);
  });
});

describe('is the line that pino would write', () => {
  const line = (write: (log: Logger) => void) => {
    const lines: string[] = [];
    write(createLog('info', { write: (text) => lines.push(text) }));
    return lines.map((text) => text.replaceAll(/"(time|ms)":\d+/g, '"$1":0'));
  };

  test.each([
    ['a call', 'GET', '/a', 200],
    ['one that nobody could read', null, '', 400],
    ['one without an answer', 'POST', '/a', undefined],
    ['a path with quotation marks', 'GET', '/a"b\\c', 200],
    ['a path with a control character', 'GET', '/a\u0001\u007f\u0085\u2028', 200],
  ])('of %s', (_what, method, path, status) => {
    const req = new IncomingMessage(new Socket());
    Object.assign(req, { method });
    const res = new ServerResponse(req);
    if (status !== undefined) res.writeHead(status);
    const client = '127.0.0.1';
    const known = {
      requestId: requestId(res),
      trace: {
        traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
        traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
        tracestate: undefined,
      },
      session: 'abcdefghijklmnop',
      token: 'living',
      bytesIn: 3,
      times: { session: 0.26, token: 0, service: 1_234.56 },
      route: '/api/*',
    } as const;
    const ours = line((log) =>
      createAccessLog({ log }).end({
        req,
        res,
        target: path,
        client,
        startedAt: 0,
        bytesBefore: -12,
        ...known,
      }),
    );
    const members = {
      requestId: known.requestId,
      traceId: known.trace.traceId,
      session: known.session,
      client,
      method,
      path: path || 'not a path',
      route: known.route,
      status,
      ms: 0,
      sessionMs: 0.3,
      serviceMs: 1_234.6,
      bytes: 12,
      bytesIn: 3,
      token: known.token,
      cutOff: true,
    };
    expect(ours).toEqual(line((log) => log.info(members, 'request')));
  });
});
