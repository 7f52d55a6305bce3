import type { Response } from 'express';
import type { ErrorAction } from './errors.ts';

/** Where a page stands among the others. */
export interface SitePlace {
  /** The part of the site that the navigation marks. */
  readonly room: string;
  /** Leads to the page that somebody came from. */
  readonly wayBack?: ErrorAction;
}

/** Says it before the page is made: an error page that comes instead stands in the same place. */
export function standAt(res: Response, place: SitePlace): void {
  res.locals['place'] = place;
}

/** What was said of the page of this answer; null where nothing was. */
export function placeOf(res: Response): SitePlace | null {
  return (res.locals['place'] as SitePlace | undefined) ?? null;
}
