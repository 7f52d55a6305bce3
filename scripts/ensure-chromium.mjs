import { ensureFromApt, pathOf } from './ensure-programs.mjs';

/**
 * Returns the path of an installed Chromium, or undefined. Debian's headless Chromium comes first, because it takes a third less CPU
 * for the same pages.
 */
export function chromiumPath() {
  return pathOf('chromium-headless-shell') ?? pathOf('chromium');
}

/** Installs Debian's headless Chromium where there is no Chromium. Throws a LaunchError where that fails. */
export async function ensureChromium() {
  await ensureFromApt('chromium', 'chromium-headless-shell', () => chromiumPath() !== undefined);
}
