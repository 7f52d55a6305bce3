import { createServer, request } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createLog, writeInfoLine } from '../../src/platform/log.ts';
import { requestId } from '../../src/platform/request-id.ts';
import { logRequest } from '../../src/platform/request-log.ts';

const UNTIL_CLOSED: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of UNTIL_CLOSED.splice(0)) await close();
});

/** A server that logs each request as `level` lets it, and its port. */
async function startServer(level: string, answer: RequestListener) {
  const lines: string[] = [];
  const log = createLog(level, { write: (line) => lines.push(line) });
  const server = createServer((req, res) => {
    logRequest(log, req, res, req.url ?? '', 0);
    answer(req, res);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  UNTIL_CLOSED.push(async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return { lines, port: (server.address() as AddressInfo).port, server };
}

/** Sends a target as it stands, and resolves once its answer is over, with the request's id. */
async function call(port: number, server: ReturnType<typeof createServer>, target: string): Promise<string> {
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
  test('has these members, in this order, and is one line of JSON', async () => {
    const { lines, port, server } = await startServer('info', (_req, res) => res.writeHead(204).end());
    const id = await call(port, server, '/a/b?secret=1');
    expect(lines).toHaveLength(1);
    const [line = ''] = lines;
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
      'status',
      'ms',
      'msg',
    ]);
    expect(members).toMatchObject({
      level: 'info',
      requestId: id,
      client: '127.0.0.1',
      method: 'GET',
      path: '/a/b',
      status: 204,
      msg: 'request',
    });
    expect(Math.abs(Date.now() - Number(members['time']))).toBeLessThan(60_000);
    expect(Number.isInteger(members['ms'])).toBe(true);
  });

  test.each([
    ['quotation marks', '/a"b","status":"500'],
    ['a backslash', '/a\\"b\\'],
  ])('holds a path with %s as it came', async (_what, target) => {
    const { lines, port, server } = await startServer('info', (_req, res) => res.end());
    await call(port, server, target);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ path: target, status: 200, msg: 'request' });
  });

  test('says that an answer was cut off, and has no status before there was one', async () => {
    const { lines, port } = await startServer('info', (_req, res) => res.destroy());
    const asked = request({ port, host: '127.0.0.1', path: '/cut' }).end();
    await once(asked, 'error');
    expect(lines).toHaveLength(1);
    const members = JSON.parse(lines[0] ?? '') as object;
    expect(members).toMatchObject({ path: '/cut', cutOff: true });
    expect(members).not.toHaveProperty('status');
  });

  test('is not written where the log is for warnings', async () => {
    const { lines, port, server } = await startServer('warn', (_req, res) => res.end());
    await call(port, server, '/a');
    expect(lines).toEqual([]);
  });
});

test('a line of JSON members is the one that pino writes of the same', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const members = { path: '/"\\\u0000\u001f\u007f\u2028\ud800', status: 200, cutOff: true };
  log.info(members, 'a "message"');
  writeInfoLine(log, 'a "message"', JSON.stringify(members).slice(1, -1));
  const [ofPino = '', ofOurs = ''] = lines.map((line) => line.replace(/"time":\d+/, '"time":0'));
  expect(ofOurs).toBe(ofPino);
});
