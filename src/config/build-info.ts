import { readFileSync } from 'node:fs';
import type { Env } from './env.ts';

/** Version and commit of this Cloakroom build. */
export interface Build {
  readonly version: string;
  readonly revision: string;
}

/**
 * Reads BUILD_VERSION and BUILD_REVISION, which the image sets. Outside the image, the version comes from package.json, and the revision is
 * `unknown`, because a working copy may have uncommitted changes.
 */
export function readBuild(env: Env): Build {
  return {
    version: env['BUILD_VERSION'] || packageVersion(),
    revision: env['BUILD_REVISION'] || 'unknown',
  };
}

/** Reads the version from package.json. Never throws, so that secrets can be reloaded even while package.json is being replaced. */
function packageVersion(): string {
  try {
    const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8'); // same path from src and dist
    return (JSON.parse(text) as { version: string }).version;
  } catch {
    return 'unknown';
  }
}
