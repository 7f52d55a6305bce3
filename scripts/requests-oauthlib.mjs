import { spawnSync } from 'node:child_process';
import { ensureFromApt } from './ensure-programs.mjs';
import { LaunchError } from './launch.mjs';

/** Debian's own, which has Debian's packages; another may come first on the PATH. */
export const DEBIAN_PYTHON = '/usr/bin/python3';

/** Whether the Python library requests-oauthlib can be used here. */
export function hasRequestsOauthlib() {
  return spawnSync(DEBIAN_PYTHON, ['-c', 'import requests_oauthlib']).status === 0;
}

/**
 * Sees to it that it is there. Where it can't be installed this only says so, and its tests are skipped; in CI, where
 * nobody would see them missing, it throws the LaunchError.
 */
export async function ensureRequestsOauthlib() {
  try {
    await ensureFromApt('requests-oauthlib', 'python3-requests-oauthlib', hasRequestsOauthlib);
  } catch (error) {
    if (!(error instanceof LaunchError) || process.env['CI']) throw error;
    console.error(`Its tests are skipped: ${error.message}`);
  }
}
