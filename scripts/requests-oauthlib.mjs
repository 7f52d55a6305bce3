import { spawnSync } from 'node:child_process';
import { ensureFromApt } from './ensure-programs.mjs';
import { LaunchError } from './launch.mjs';

/** Debian's Python, which has Debian's packages. Another one may come first on the PATH. */
export const DEBIAN_PYTHON = '/usr/bin/python3';

/** Whether the Python library requests-oauthlib can be used here. */
export function hasRequestsOauthlib() {
  return spawnSync(DEBIAN_PYTHON, ['-c', 'import requests_oauthlib']).status === 0;
}

/**
 * Installs requests-oauthlib where it is missing. Where that fails it prints why, and its tests are skipped. In CI it throws the
 * LaunchError instead, because no developer would notice the skipped tests.
 */
export async function ensureRequestsOauthlib() {
  try {
    await ensureFromApt('requests-oauthlib', 'python3-requests-oauthlib', hasRequestsOauthlib);
  } catch (error) {
    if (!(error instanceof LaunchError) || process.env['CI']) throw error;
    console.error(`Its tests are skipped: ${error.message}`);
  }
}
