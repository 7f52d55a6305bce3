import { spawnSync } from 'node:child_process';
import { ensureFromApt } from './ensure-programs.mjs';
import { LaunchError } from './launch.mjs';

/** Debian's Python, which finds Debian's packages. Another Python may come first on the PATH. */
export const DEBIAN_PYTHON = '/usr/bin/python3';

/** Returns whether the Python library requests-oauthlib is installed. */
export function hasRequestsOauthlib() {
  return spawnSync(DEBIAN_PYTHON, ['-c', 'import requests_oauthlib']).status === 0;
}

/**
 * Installs requests-oauthlib if the library is missing. If the installation fails, prints the reason, and the tests that use the library
 * are skipped. In CI, throws the LaunchError instead, because skipped tests would go unnoticed there.
 */
export async function ensureRequestsOauthlib() {
  try {
    await ensureFromApt('requests-oauthlib', 'python3-requests-oauthlib', hasRequestsOauthlib);
  } catch (error) {
    if (!(error instanceof LaunchError) || process.env['CI']) throw error;
    console.error(`The requests-oauthlib tests are skipped: ${error.message}`);
  }
}
