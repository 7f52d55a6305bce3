/**
 * Kinds of status by their first digit, and the one of what got no answer: values of a label of metrics. An answer never ends
 * with a 1xx.
 */
export const STATUSES = ['none', '2xx', '3xx', '4xx', '5xx'];

/** Where in STATUSES a status stands; what is none counts as `5xx`. */
export function kindOfStatus(status: number | undefined): number {
  return status === undefined ? 0 : Math.min(Math.max(Math.floor(status / 100), 1), 5) - 1;
}
