import { createServer, type Server } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Registry } from 'prom-client';

/** Time without traffic after which a connection is closed, in ms. */
const SILENCE_MS = 10_000;
/** Maximum number of connections. Until a connection closes, Node keeps about 5 MB for each packet of pipelined requests. */
const MAX_CONNECTIONS = 16;

/** Matches an `Accept-Encoding` that allows gzip (RFC 9110 §12.5.3). */
const ACCEPTS_GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

const compress = promisify(gzip);

/**
 * Serves only `GET /metrics`, in the Prometheus text format, on a bound port until the server is disposed of. The response is compressed
 * if the request accepts gzip. Each connection carries one request. Requests that arrive while metrics are being gathered share the result,
 * because a result is large and may never be read.
 */
export async function startMetricsServer(
  registry: Registry,
  bound: { readonly url: string; handOver(server: Server): Promise<void> },
) {
  const gather = createShared(async () => Buffer.from(await registry.metrics()));
  const gatherCompressed = createShared(async () => compress(await gather()));

  const server = createServer();
  server.setTimeout(SILENCE_MS);
  server.maxConnections = MAX_CONNECTIONS;
  server.on('request', (req, res) => {
    if (res.socket === null) return; // pipelined: the previous response closes the connection
    res.shouldKeepAlive = false;
    if (req.url !== '/metrics' || (req.method !== 'GET' && req.method !== 'HEAD')) {
      res.writeHead(req.url === '/metrics' ? 405 : 404).end();
      return;
    }
    const isCompressed = ACCEPTS_GZIP.test(req.headers['accept-encoding'] ?? '');
    const headers = {
      'content-type': registry.contentType,
      vary: 'Accept-Encoding',
      ...(isCompressed && { 'content-encoding': 'gzip' }),
    };
    (isCompressed ? gatherCompressed : gather)().then(
      (metrics) => res.writeHead(200, { ...headers, 'content-length': metrics.length }).end(metrics),
      () => res.writeHead(500).end(),
    );
  });
  await bound.handOver(server);
  return {
    url: `${bound.url}/metrics`,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** Returns a function that runs `make`, or shares the result of a run in progress. */
function createShared(make: () => Promise<Buffer>): () => Promise<Buffer> {
  let running: Promise<Buffer> | null = null;
  return async () => (running ??= make().finally(() => (running = null)));
}
