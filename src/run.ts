import { readDotEnv } from './config/env.ts';
import { loadConfig, withPort, type Config } from './config/load.ts';
import { settlesWithin } from './promises.ts';
import { exitOnUncaughtErrors, logWarnings, untilSignal, type Sighup } from './process.ts';
import { bindPort } from './http/listening.ts';
import { createBufferedOutput, createLog } from './observability/logger.ts';
import { startMetricsServer } from './observability/metrics-server.ts';
import { redisReady } from './redis/client.ts';
import { createSecretsReload } from './config/secrets-reload.ts';
import { startServer } from './server.ts';
import { createServices } from './services.ts';

/** A balancer may send calls as soon as the port answers, and Redis takes a moment to connect to. */
const REDIS_WITHIN_MS = 500;
/** For storing what refreshes bring that are under way at the end. */
const STORES_WITHIN_MS = 2_000;

/**
 * Starts, serves until a signal, drains. Resolves with the exit code; rejects with a StartupError where it can't start.
 * SIGHUP reloads secrets.
 */
export async function run(self: NodeJS.Process, sighup: Sighup): Promise<number> {
  const lines = createBufferedOutput();
  self.once('exit', () => lines.flush());
  exitOnUncaughtErrors(self, createLog('fatal', lines)); // whatever LOG_LEVEL says
  const dotEnv = readDotEnv(self);
  const loaded = loadConfig(self.env, dotEnv.isIgnored);
  const bound = await bindPort(loaded.host, loaded.port);
  const config = withPort(loaded, bound.port);

  const log = createLog(config.logLevel, lines);
  logWarnings(self, log);
  if (Number(self.versions.node.split('.')[0]) < 22) {
    log.warn({ node: self.version }, 'Node 20 gets no more fixes: use Node 24');
  }
  const services = createServices(config, log);
  sighup.handle(createSecretsReload(self.env, services));
  // The port holds who comes early. Without Redis we start all the same: an outage has its answers.
  const redisTried = redisReady(services.redis).catch(() => {});
  await settlesWithin(redisTried, REDIS_WITHIN_MS);
  await using metrics =
    services.metrics &&
    (await startMetricsServer(
      services.metrics.registry,
      await bindPort(config.host, config.metricsPort, 'METRICS_'),
    ));
  if (metrics !== null) log.info({ url: metrics.url }, 'metrics are served');
  const running = await startServer(services, bound);
  const addresses = { url: toBrowse(config, running.url), publicUrl: config.publicOrigin };
  log.info({ ...addresses, ...config.build }, 'listening');

  const signal = await untilSignal(self, ['SIGTERM', 'SIGINT']);
  sighup.ignore();
  log.info({ signal, withinSeconds: config.shutdownSeconds }, 'draining');
  const begunAt = performance.now();
  const deadline = begunAt + config.shutdownSeconds * 1_000;
  services.tokens.setDeadline(deadline);
  const drained = await running.drain(deadline - begunAt);
  // What refreshes under way bring must not be lost: those begun before the signal may take all of their time.
  const refreshed = Math.max(deadline, begunAt + config.tokenTimeoutSeconds * 1_000) + STORES_WITHIN_MS;
  const stopped = await settlesWithin(services[Symbol.asyncDispose](), refreshed - performance.now());
  const inTime = drained && stopped && performance.now() <= deadline;
  log.info({ inTime }, 'stopped');
  return inTime ? 0 : 1;
}

/** Sign-in works only under PUBLIC_URL: where that is this very port, it is the address to tell. */
function toBrowse(config: Config, url: string): string {
  const { protocol, port, hostname } = new URL(config.publicOrigin);
  const isHere = protocol === 'http:' && hostname === 'localhost' && Number(port || 80) === config.port;
  return isHere ? config.publicOrigin : url;
}
