import type { Registry } from 'prom-client';
import { createDurationHistogram } from './duration-histogram.ts';
import type { DurationSeries } from './duration-histogram.ts';
import { STATUSES, kindOfStatus } from './status-kinds.ts';

/** Counts the requests that are over. */
export interface RequestMetrics {
  /** `route` is a template, of which there are few; `status` is undefined where nothing was answered. */
  ended(route: string, method: string | undefined, status: number | undefined, ms: number): void;
}

/** Methods with a series of their own; all others share one. */
export const COUNTED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'];
const METHODS: ReadonlySet<string> = new Set(COUNTED_METHODS);

export function createRequestMetrics(registry: Registry): RequestMetrics {
  const requests = createDurationHistogram(registry, {
    name: 'cloakroom_request_duration_seconds',
    help: 'Requests, from their head to the end of their answer, by route, method and kind of status.',
    labelNames: ['route', 'method', 'status'],
  });
  /** By route and method; each has one for every kind of status. Made when they are first needed. */
  const all = new Map<string, Map<string, DurationSeries[]>>();

  const seriesOf = (route: string, method: string) => {
    const ofRoute = all.get(route) ?? new Map<string, DurationSeries[]>();
    all.set(route, ofRoute);
    const series = STATUSES.map((status) => requests.series({ route, method, status }));
    ofRoute.set(method, series);
    return series;
  };

  return {
    ended(route, asked = '', status, ms) {
      const method = METHODS.has(asked) ? asked : 'other';
      const series = all.get(route)?.get(method) ?? seriesOf(route, method);
      series[kindOfStatus(status)]?.observe(ms / 1_000);
    },
  };
}
