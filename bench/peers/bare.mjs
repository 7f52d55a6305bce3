import { createServer } from 'node:http';
import { Pool } from 'undici';
import { listenAndReport, settings } from './peer.mjs';

/** A well-written pass-through without sessions, which shows the minimum cost of a proxy on Node. */

const NOT_FORWARDED = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'cookie',
  'authorization',
  'expect',
]);
const NOT_RETURNED = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const authorization = `Bearer ${settings['accessToken']}`;
const pool = new Pool(settings['upstream'] ?? '', { connections: 128 });

const server = createServer((req, res) => {
  const headers = ['authorization', authorization];
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    const name = req.rawHeaders[at] ?? '';
    if (!NOT_FORWARDED.has(name.toLowerCase())) headers.push(name, req.rawHeaders[at + 1] ?? '');
  }
  const hasBody =
    req.headers['content-length'] !== undefined || req.headers['transfer-encoding'] !== undefined;
  const request = { path: req.url ?? '/', method: req.method ?? 'GET', headers, body: hasBody ? req : null };

  pool.dispatch(request, {
    onRequestStart(controller) {
      res.once('close', () => {
        if (!res.writableFinished) controller.abort(new Error('the client disconnected'));
      });
    },
    onResponseStart(controller, status) {
      if (status < 200) return;
      const raw = /** @type {Buffer[]} */ (controller.rawHeaders);
      const returned = [];
      for (let at = 0; at < raw.length; at += 2) {
        const name = raw[at]?.toString('latin1') ?? '';
        if (!NOT_RETURNED.has(name.toLowerCase())) returned.push(name, raw[at + 1]?.toString('latin1') ?? '');
      }
      res.writeHead(status, returned);
    },
    onResponseData(controller, chunk) {
      if (res.write(chunk)) return;
      controller.pause();
      res.once('drain', () => controller.resume());
    },
    onResponseEnd: () => void res.end(),
    onResponseError() {
      if (res.headersSent) res.destroy();
      else res.writeHead(502).end();
    },
  });
});
await listenAndReport(server);
