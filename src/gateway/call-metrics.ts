import type { ServerResponse } from 'node:http';
import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { createDurationHistogram } from '../platform/duration-histogram.ts';
import type { DurationSeries } from '../platform/duration-histogram.ts';
import type { Call } from './call.ts';

/** What the metrics tell of the gateway. */
export interface CallMetrics {
  /** A call is over. */
  ended(call: Call): void;
  /** A call was answered by the gateway itself, with this code. */
  refused(code: string): void;
}

/** Methods with a series of their own; all others share one. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The first digit of the status, and for what got no answer. */
const STATUSES = ['none', '1xx', '2xx', '3xx', '4xx', '5xx'];

/** Registers them; `inFlight` tells how many calls there are now. */
export function createCallMetrics(registry: Registry, inFlight: () => number): CallMetrics {
  const calls = createDurationHistogram(registry, {
    name: 'cloakroom_call_duration_seconds',
    help: 'Calls of /api/*, from their head to the end of their answer, by method and kind of status.',
    labelNames: ['method', 'status'],
  });
  const service = createDurationHistogram(registry, {
    name: 'cloakroom_service_duration_seconds',
    help: 'Part of a call until the head of the service’s answer, by kind of status.',
    labelNames: ['status'],
  });
  const refusals = new Counter({
    name: 'cloakroom_refusals_total',
    help: 'Calls that the gateway answered itself, by the code of the problem.',
    labelNames: ['code'],
    registers: [registry],
  });
  const gauge: Gauge = new Gauge({
    name: 'cloakroom_calls_in_flight',
    help: 'Calls with a session that are under way.',
    registers: [registry],
    collect: (): void => gauge.set(inFlight()),
  });

  const callSeries = new Map<string, DurationSeries[]>(
    [...METHODS, 'other'].map((method) => [
      method,
      STATUSES.map((status) => calls.series({ method, status })),
    ]),
  );
  const serviceSeries = STATUSES.map((status) => service.series({ status }));

  return {
    ended({ req, res, startedAt, times }) {
      const kind = kindOf(res);
      const ofMethod = callSeries.get(req.method ?? '') ?? callSeries.get('other');
      ofMethod?.[kind]?.observe((performance.now() - startedAt) / 1_000);
      if (times.service > 0) serviceSeries[kind]?.observe(times.service / 1_000);
    },
    refused: (code) => refusals.inc({ code }),
  };
}

/** Where in STATUSES an answer counts. */
function kindOf(res: ServerResponse): number {
  return res.headersSent ? Math.min(Math.floor(res.statusCode / 100), 5) : 0;
}
