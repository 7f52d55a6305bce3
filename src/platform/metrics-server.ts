import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { bindPort } from './listening.ts';

/** Where the metrics are read; ends with its disposal. */
export interface MetricsServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves `GET /metrics` in Prometheus's text format, and nothing else, on a port of its own. Rejects with a StartupError
 * where the port can't be had.
 */
export async function startMetricsServer(
  registry: Registry,
  host: string,
  port: number,
): Promise<MetricsServer> {
  const bound = await bindPort(host, port, 'METRICS_');
  const server = createServer((req, res) => {
    if (req.url !== '/metrics' || (req.method !== 'GET' && req.method !== 'HEAD')) {
      res.writeHead(req.url === '/metrics' ? 405 : 404).end();
      return;
    }
    registry.metrics().then(
      (text) => res.writeHead(200, { 'content-type': registry.contentType }).end(text),
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
