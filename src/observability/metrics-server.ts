import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

/** Time without traffic after which a connection is closed, in ms. */
const SILENCE_MS = 10_000;
/** Maximum number of connections. Until a connection closes, Node keeps about 5 MB for each packet of pipelined requests. */
const MAX_CONNECTIONS = 16;

/**
 * Serves only `GET /metrics`, in the Prometheus text format, on a bound port until the server is disposed of. Each connection carries one
 * request. Requests that arrive while metrics are being gathered share the result, because a result is large and may never be read.
 */
export async function startMetricsServer(
  registry: Registry,
  bound: { readonly url: string; handOver(server: Server): Promise<void> },
) {
  let gathering: Promise<Buffer> | null = null;
  const gather = async () => {
    gathering ??= registry
      .metrics()
      .then((text) => Buffer.from(text))
      .finally(() => (gathering = null));
    return gathering;
  };

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
    gather().then(
      (metrics) => res.writeHead(200, { 'content-type': registry.contentType }).end(metrics),
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
