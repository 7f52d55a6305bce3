import type { Response } from 'express';

/** A link that a page offers. */
export interface Link {
  /** A path on this site. */
  readonly href: string;
  readonly label: string;
}

/** What stands around an error as it would around the page that it comes instead of. */
export interface SiteFrame {
  /** The part of the site that the navigation marks. */
  readonly room: string;
  /** Leads to the page that somebody came from. */
  readonly wayBack?: Link;
}

/** To be said before anything can fail. */
export function setFrame(res: Response, frame: SiteFrame): void {
  res.locals['frame'] = frame;
}

/** The frame of this answer; null where nothing was said of it. */
export function frameOf(res: Response): SiteFrame | null {
  return (res.locals['frame'] as SiteFrame | undefined) ?? null;
}
