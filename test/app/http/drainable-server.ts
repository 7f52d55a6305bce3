import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpServer } from '../../../src/http/http-server.ts';
import { bindPort } from '../../../src/http/listening.ts';
import type { ShutdownOptions } from '../../../src/http/shutdown.ts';
import { createLog } from '../../../src/observability/logger.ts';

/** Far beyond any test. */
const LONG_MS = 60_000;

/** A server on a bound port. `listen()` starts it; its handler learns whether the drain refuses a request. */
export async function createDrainable(
  handle: (req: IncomingMessage, res: ServerResponse, isRefused: boolean) => unknown,
  options: Partial<ShutdownOptions> = {},
) {
  const bound = await bindPort('127.0.0.1', 0);
  const log = createLog('silent');
  const http = new HttpServer({ log, lingerMs: LONG_MS, silenceMs: LONG_MS, ...options });
  return {
    port: bound.port,
    http,
    server: http.server,
    drain: async (withinMs: number) => http.drain(withinMs),
    listen: async () => http.listen(bound, (req, res) => void handle(req, res, http.refuses(req))),
  };
}
