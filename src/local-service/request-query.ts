import type { Request } from 'express';
import { toParameters } from './request-parameters.ts';

/** The query as it was sent, without its question mark; empty where there is none. */
export function rawQuery(req: Request): string {
  const mark = req.originalUrl.indexOf('?');
  return mark < 0 ? '' : req.originalUrl.slice(mark + 1);
}

/** The query's parameters with their repetitions: Express's own parser would merge them. */
export function toQuery(req: Request): URLSearchParams {
  return toParameters(rawQuery(req));
}
