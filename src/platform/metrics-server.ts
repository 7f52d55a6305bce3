import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { createLingeringClose, dropBehind, endWithThisAnswer, isEnding } from './lingering-close.ts';
import { bindPort } from './listening.ts';

/** Where the metrics are read; ends with its disposal. */
export interface MetricsServer extends AsyncDisposable {
  readonly url: string;
}

/** For what is still sent behind an answer. */
const LINGER_MS = 2_000;
/** Who takes nothing of an answer for so long is none that scrapes. */
const SILENCE_MS = 10_000;
/** More are closed as they come: whoever opens them shall not use up the files that the process may open. */
const CONNECTIONS = 64;

/**
 * Serves `GET /metrics` in Prometheus's text format, and nothing else, on a port of its own: once a connection, and what
 * is asked while the numbers are gathered gets the same ones. They are large, and whoever asks need not read. Rejects with a StartupError
 * where the port can't be had.
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
  createLingeringClose(server, LINGER_MS);
  server.setTimeout(SILENCE_MS);
  server.maxConnections = CONNECTIONS;
  server.on('request', (req, res) => {
    if (isEnding(req.socket)) {
      dropBehind(req.socket);
      return;
    }
    endWithThisAnswer(req.socket);
    res.setHeader('connection', 'close');
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
