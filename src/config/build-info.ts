import { readFileSync } from 'node:fs';
import type { Env } from './env-variables.ts';

/** Which Cloakroom this is. */
export interface Build {
  /** That of package.json, or the one under which somebody built an image; `unknown` where neither is to be had. */
  readonly version: string;
  /** The commit that it was built from, or `unknown`. */
  readonly revision: string;
}

/**
 * What the image says of itself, in BUILD_VERSION and BUILD_REVISION. Elsewhere nobody is asked for the revision: of a folder
 * that people work in, git tells which commit it began with, and not what runs.
 */
export function readBuild(env: Env): Build {
  return {
    version: env['BUILD_VERSION'] || versionOfPackage(),
    revision: env['BUILD_REVISION'] || 'unknown',
  };
}

/** The file has the same place beside `src` and `dist`. That it is just being replaced keeps nobody from reading secrets again. */
function versionOfPackage(): string {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return 'unknown';
  }
}
