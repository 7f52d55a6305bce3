import { spawnSync } from 'node:child_process';
import { ensureFromApt } from './ensure-programs.mjs';
import { LaunchError } from './launch.mjs';

/** Debian's Python, which has Debian's packages. The PATH may find another Python first. */
export const DEBIAN_PYTHON = '/usr/bin/python3';

/** Whether the Python library requests-oauthlib is installed. */
export function hasRequestsOauthlib() {
  return spawnSync(DEBIAN_PYTHON, ['-c', 'import requests_oauthlib']).status === 0;
}

/**
 * Installs requests-oauthlib if it is missing. If that fails, it prints the reason, and the tests of the library are skipped. In CI
 * it throws the LaunchError instead, because skipped tests would go unnoticed there.
 */
export async function ensureRequestsOauthlib() {
  try {
    await ensureFromApt('requests-oauthlib', 'python3-requests-oauthlib', hasRequestsOauthlib);
  } catch (error) {
    if (!(error instanceof LaunchError) || process.env['CI']) throw error;
    console.error(`Its tests are skipped: ${error.message}`);
  }
}
