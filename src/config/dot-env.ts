import { existsSync } from 'node:fs';
import { StartupError } from '../errors.ts';

/** What to say of variables that are missing, where a `.env` stands here that is not read. */
export const DOT_ENV_IGNORED =
  'The .env in this folder is not read in production: set the variables in the environment, or, to try things out, NODE_ENV=development.';

/**
 * Reads the `.env` of the folder that we are in into the environment, outside of production. Gives whether one stands there that
 * is not read. Throws a StartupError where it can't be read.
 */
export function readDotEnv(self: Pick<NodeJS.Process, 'env' | 'loadEnvFile'>): {
  readonly isIgnored: boolean;
} {
  if (!existsSync('.env')) return { isIgnored: false };
  if (self.env['NODE_ENV'] === 'production') return { isIgnored: true };
  try {
    self.loadEnvFile('.env');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new StartupError(`.env can't be read (${code})`);
  }
  return { isIgnored: false };
}
