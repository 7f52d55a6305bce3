import { isLoopback } from '../../../config/schema.ts';
import type { Settings } from '../settings.ts';
import { ok, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** Whether it is looked at as it will run. */
export function checkMode({ env, isProduction, publicOrigin }: Settings): Verdict {
  if (isProduction) return ok('production');
  const isPublic = publicOrigin !== undefined && !isLoopback(publicOrigin);
  const isKnown = ['', 'development', 'test'].includes(env['NODE_ENV'] ?? '');
  if (isKnown && !isPublic) return ok('Not production: .env is read, and http is taken.');
  return warning(
    isKnown
      ? 'Not production, though PUBLIC_URL is no address of this machine: what production refuses is taken.'
      : 'Neither production nor development: it counts as development.',
    'Set NODE_ENV=production, as npm start does by itself.',
  );
}
