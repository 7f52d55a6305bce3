import { createServer } from 'node:http';
import { Redis } from 'ioredis';
import { Pool } from 'undici';
import { listenAndReport, settings } from './peer.mjs';

/**
 * A well-written pass-through, which shows the minimum cost of a proxy on Node. With the setting `readsSessions`, it also reads a value from
 * Redis for each request, and so shows the minimum cost of server-side sessions.
 */

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

const readValue =
  settings['readsSessions'] === 'true' ? createReads(new Redis(settings['redis'] ?? '')) : null;

const server = createServer((req, res) => {
  if (readValue === null) forward(req, res);
  else void readValue(`bare:${req.headers.cookie}`).then(() => forward(req, res));
});

/** @type {import('node:http').RequestListener} */
function forward(req, res) {
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
}

/**
 * Returns a function that reads the value of a key and resets its time to live. One script reads all keys from one turn of the event loop.
 * @param {Redis} redis
 */
function createReads(redis) {
  const script = `
    local values = {}
    for at, key in ipairs(KEYS) do values[at] = redis.call('GETEX', key, 'EX', 3600) end
    return values`;
  /** @type {string[]} */
  let keys = [];
  /** @type {Promise<unknown>} */
  let reply;
  const send = () => {
    const batch = keys;
    keys = [];
    return redis.eval(script, batch.length, ...batch);
  };
  return (/** @type {string} */ key) => {
    if (keys.length === 0)
      reply = new Promise((resolve, reject) => setImmediate(() => void send().then(resolve, reject)));
    keys.push(key);
    return reply;
  };
}

await listenAndReport(server);
