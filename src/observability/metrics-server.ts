import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { bindPort } from '../http/listening.ts';

/** Where the metrics are read; ends with its disposal. */
export interface MetricsServer extends AsyncDisposable {
  readonly url: string;
}

/** Close connections that read nothing for 10 s. */
const SILENCE_MS = 10_000;
/**
 * Close further connections as they come. Node keeps each request that a client pipelines until its connection closes,
 * some 5 MB for a packet of them.
 */
const CONNECTIONS = 16;

/**
 * Serves `GET /metrics` in Prometheus's text format, and nothing else, on a port of its own. A connection carries one
 * request, and requests that arrive while the metrics are gathered share them: they are large, and a client need not read
 * them. Rejects with a StartupError where the port is not available.
 */
export async function startMetricsServer(
  registry: Registry,
  host: string,
  port: number,
): Promise<MetricsServer> {
  const bound = await bindPort(host, port, 'METRICS_');
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
  server.maxConnections = CONNECTIONS;
  server.on('request', (req, res) => {
    if (res.socket === null) return; // pipelined: Node queues its response behind the one that closes the connection
    res.shouldKeepAlive = false;
    if (req.url !== '/metrics' || (req.method !== 'GET' && req.method !== 'HEAD')) {
      res.writeHead(req.url === '/metrics' ? 405 : 404).end();
      return;
    }
    gather().then(
      (numbers) => res.writeHead(200, { 'content-type': registry.contentType }).end(numbers),
      () => res.writeHead(500).end(),
    );
  });
  await bound.handOver(server);
  return {
    url: `${bound.url}/metrics`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
