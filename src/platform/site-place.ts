import type { Request, Response } from 'express';
import type { ErrorAction } from './errors.ts';

/** Where an answer stands among the pages. */
export interface SitePlace {
  /** The part of the site that the navigation marks. */
  readonly room: string;
  /** Leads to the page that somebody came from. */
  readonly wayBack?: ErrorAction;
  /** One of ours that sign-in comes back to, where what was asked for is no page to come back to. */
  readonly comesBackTo?: string;
}

/** Says it before the answer is made: an error page, or a sign-in, that comes instead stands in the same place. */
export function standAt(res: Response, place: SitePlace): void {
  res.locals['place'] = place;
}

/** What was said of the place of this answer; null where nothing was. */
export function placeOf(res: Response): SitePlace | null {
  return (res.locals['place'] as SitePlace | undefined) ?? null;
}

/** Where sign-in comes back to. */
export function returnPathOf(req: Request, res: Response): string {
  return placeOf(res)?.comesBackTo ?? req.originalUrl;
}
