import type { Response } from 'express';
import type { ErrorAction } from './errors.ts';

/** What surrounds the words of a page of ours, be it the page itself or an error in its place. */
export interface SiteFrame {
  /** The part of the site that the navigation marks. */
  readonly room: string;
  /** Leads to the page that somebody came from. */
  readonly wayBack?: ErrorAction;
}

/** Says it before the page is made, so that an error that comes instead stands in the same frame. */
export function setFrame(res: Response, frame: SiteFrame): void {
  res.locals['frame'] = frame;
}

/** The frame of this answer; null where nothing was said of it. */
export function frameOf(res: Response): SiteFrame | null {
  return (res.locals['frame'] as SiteFrame | undefined) ?? null;
}
