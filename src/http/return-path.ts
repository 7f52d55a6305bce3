import type { Request, Response } from 'express';

/**
 * Names a page of ours that sign-in comes back to where what was asked for is none. To be said before the session is judged:
 * who has none is sent to sign in there and then.
 */
export function setReturnPath(res: Response, path: string): void {
  res.locals['returnPath'] = path;
}

/** The address that starts sign-in and comes back to a path on this site. */
export function loginUrl(returnTo: string): string {
  return `/auth/login?return_to=${encodeURIComponent(returnTo)}`;
}

/** Where sign-in comes back to: what was asked for, unless another page was named. */
export function returnPathOf(req: Request, res: Response): string {
  return (res.locals['returnPath'] as string | undefined) ?? req.originalUrl;
}
