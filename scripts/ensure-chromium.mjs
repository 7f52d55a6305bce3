import { ensureFromApt, pathOf } from './ensure-programs.mjs';

/**
 * Returns the path of an installed Chromium, or undefined. The function prefers Debian's headless Chromium, which takes a
 * third less CPU time for the same pages.
 */
export function chromiumPath() {
  return pathOf('chromium-headless-shell') ?? pathOf('chromium');
}

/** Installs Debian's headless Chromium if no Chromium is installed. Throws a LaunchError if the installation fails. */
export async function ensureChromium() {
  await ensureFromApt('chromium', 'chromium-headless-shell', () => chromiumPath() !== undefined);
}
