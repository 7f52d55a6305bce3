import { chromium } from 'playwright-core';
import { chromiumPath } from './ensure-chromium.mjs';

/**
 * Starts the Chromium at chromiumPath() in headless mode, without background requests.
 * @param {import('playwright-core').LaunchOptions} [options]
 */
export async function startChromium(options = {}) {
  return chromium.launch({
    ...options,
    executablePath: chromiumPath() ?? 'chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...(options.args ?? []),
    ],
  });
}
