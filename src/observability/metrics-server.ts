import { createServer, type Server } from 'node:http';
import type { Registry } from 'prom-client';

/** Closes connections that read nothing for 10 s. */
const SILENCE_MS = 10_000;
/** Maximum number of connections. Node keeps pipelined requests until the connection closes: about 5 MB per packet. */
const MAX_CONNECTIONS = 16;

/**
 * Serves only `GET /metrics`, in the Prometheus text format, on a bound port until disposed of. Each connection carries one
 * request. Requests that arrive while metrics are gathered share the result, because it is large and a client may never read
 * it.
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
