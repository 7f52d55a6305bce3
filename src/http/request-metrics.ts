import type { Registry } from 'prom-client';
import { createDurationHistogram } from '../observability/histogram.ts';
import type { DurationSeries } from '../observability/histogram.ts';
import { STATUSES, kindOfStatus } from '../observability/status-kinds.ts';

/** Counts the requests that are over. */
export interface RequestMetrics {
  /** `route` is a template, of which there are few; `status` is undefined where nothing was answered. */
  ended(route: string, method: string | undefined, status: number | undefined, ms: number): void;
}

/** Of a route: all methods that it does not know. */
export const OTHER_METHODS = 'other';

/**
 * Counts by `routes`, which gives the methods that each of them knows. All series are there from the beginning, so that the first
 * failure of a route is seen as one; none comes later, whatever strangers ask for.
 */
export function createRequestMetrics(
  registry: Registry,
  routes: Readonly<Record<string, readonly string[]>>,
): RequestMetrics {
  const requests = createDurationHistogram(registry, {
    name: 'cloakroom_request_duration_seconds',
    help: 'Requests, from their head to the end of their answer, of a page until that is written, by route, method and kind of status.',
    labelNames: ['route', 'method', 'status'],
  });
  const seriesOf = (route: string, method: string) =>
    STATUSES.map((status) => requests.series({ route, method, status }));
  /** By route and method; each has one for every kind of status. */
  const all = new Map<string, ReadonlyMap<string, DurationSeries[]>>();
  for (const [route, methods] of Object.entries(routes))
    all.set(route, new Map([...methods, OTHER_METHODS].map((method) => [method, seriesOf(route, method)])));

  return {
    ended(route, method = OTHER_METHODS, status, ms) {
      const ofRoute = all.get(route);
      const series = ofRoute?.get(method) ?? ofRoute?.get(OTHER_METHODS);
      series?.[kindOfStatus(status)]?.observe(ms / 1_000);
    },
  };
}
