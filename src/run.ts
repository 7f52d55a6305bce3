import { readDotEnv } from './config/env.ts';
import { loadConfig, withPort, type Config } from './config/load.ts';
import { createSecretsReload } from './config/secrets-reload.ts';
import { bindPort } from './http/listening.ts';
import { createBufferedOutput, createLog } from './observability/logger.ts';
import { exitCodeOf, exitOnUncaughtErrors, logWarnings, untilSignal, type Sighup } from './process.ts';
import { settlesWithin } from './promises.ts';
import { redisReady } from './redis/client.ts';
import { startMetrics, startServer, type RunningServer } from './server.ts';
import { createServices, type Services } from './services.ts';

/** Maximum wait for Redis before the server starts, in ms. A load balancer may send requests as soon as the server listens. */
const REDIS_WITHIN_MS = 500;
/** Time allowed for storing the last refreshed tokens after the drain and the last token request, in ms. */
const STORE_WITHIN_MS = 2_000;

/** Runs the server until SIGTERM or SIGINT. Resolves with the exit code, and prints the message of a StartupError. */
export async function run(self: NodeJS.Process, sighup: Sighup): Promise<number> {
  return exitCodeOf(async () => serve(self, sighup));
}

/** Serves until SIGTERM or SIGINT, then shuts down. Resolves with the exit code, or rejects with a StartupError. */
async function serve(self: NodeJS.Process, sighup: Sighup): Promise<number> {
  const output = createBufferedOutput();
  self.once('exit', () => output.flush());
  exitOnUncaughtErrors(self, createLog('fatal', output)); // regardless of LOG_LEVEL

  const loaded = loadConfig(self.env, readDotEnv(self).isIgnored);
  const port = await bindPort(loaded.host, loaded.port);
  const config = withPort(loaded, port.port);

  const log = createLog(config.logLevel, output);
  logWarnings(self, log);
  if (Number(self.versions.node.split('.')[0]) < 22)
    log.warn({ node: self.version }, 'node version out of support');

  const services = createServices(config, log);
  sighup.handle(createSecretsReload(self.env, services));
  // Wait briefly for Redis; connections that arrive meanwhile are kept. If Redis is down, the server still starts and responds with 503.
  await settlesWithin(
    redisReady(services.redis).catch(() => {}),
    REDIS_WITHIN_MS,
  );
  await using _metrics = await startMetrics(services);

  const server = await startServer(services, port);
  const urls = { url: toBrowserUrl(config, server.url), publicUrl: config.publicOrigin };
  log.info({ ...urls, ...config.build }, 'listening');

  const signal = await untilSignal(self, ['SIGTERM', 'SIGINT']);
  sighup.ignore();
  log.info({ signal, withinSeconds: config.shutdownSeconds }, 'draining');
  const inTime = await shutDown(services, server);
  log.info({ inTime }, 'shutdown complete');
  return inTime ? 0 : 1;
}

/** Drains the server, then disposes of the services. Resolves to true if the entire shutdown took at most SHUTDOWN_SECONDS. */
async function shutDown(services: Services, server: RunningServer): Promise<boolean> {
  const { config, tokens } = services;
  const startedAt = performance.now();
  const deadline = startedAt + config.shutdownSeconds * 1_000;
  tokens.setDeadline(deadline);
  const drained = await server.drain(deadline - startedAt);
  // Losing a refresh token signs the user out, so a refresh that began before the signal may use its full timeout.
  const storedBy = Math.max(deadline, startedAt + config.tokenTimeoutSeconds * 1_000) + STORE_WITHIN_MS;
  const stopped = await settlesWithin(services[Symbol.asyncDispose](), storedBy - performance.now());
  return drained && stopped && performance.now() <= deadline;
}

/**
 * Returns the URL to log: PUBLIC_URL if it leads to this port, otherwise the socket's URL. Sign-in works only at PUBLIC_URL.
 */
function toBrowserUrl(config: Config, url: string): string {
  const { protocol, port, hostname } = new URL(config.publicOrigin);
  const isHere = protocol === 'http:' && hostname === 'localhost' && Number(port || 80) === config.port;
  return isHere ? config.publicOrigin : url;
}
