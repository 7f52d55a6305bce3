import type { RequestHandler } from 'express';
import { AppError } from '../errors.ts';

/**
 * Refuses a page to other sites that do not lead to it but load it, as a picture, a frame or a script (Fetch Metadata, resource
 * isolation): they could read nothing of it, but each such page costs calls of the service. Links from elsewhere go on, and
 * so does who sends no metadata at all.
 */
export const refuseLoading: RequestHandler = (req, _res, next) => {
  const site = req.get('sec-fetch-site') ?? 'none';
  const isOurs = site === 'same-origin' || site === 'none';
  const isOpened = req.get('sec-fetch-mode') === 'navigate' && req.get('sec-fetch-dest') === 'document';
  if (isOurs || isOpened) next();
  else
    next(
      new AppError('cross_site_request', {
        detail: 'Another site may lead here by a link, but not load this page into its own.',
      }),
    );
};
