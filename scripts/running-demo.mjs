import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { LaunchError, root } from './launch.mjs';

/**
 * The demo, running in its own process.
 * @typedef {object} RunningDemo
 * @property {string} address Cloakroom's origin.
 * @property {string} service The local service's origin.
 * @property {() => Promise<void>} end
 */

/**
 * Starts the demo on free ports, with faults enabled in the local service. Resolves once the demo is ready.
 * @param {string} [folder] of a checkout
 * @param {Record<string, string>} [settings] environment variables
 * @returns {Promise<RunningDemo>}
 */
export async function startDemo(folder = root, settings = {}) {
  const demo = spawn(process.execPath, ['scripts/demo.mjs'], {
    cwd: folder,
    env: { ...process.env, PORT: '0', LOCAL_SERVICE_PORT: '0', LOCAL_SERVICE_FAULTS: 'true', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(demo, 'exit');
  /** @type {string[]} */
  const addresses = [];
  for await (const line of createInterface(demo.stdout)) {
    addresses.push(...(line.match(/https?:\/\/(?:localhost|127\.0\.0\.1):\d+/g) ?? []));
    if (addresses.length > 1) break;
  }
  const [address, service] = addresses;
  if (address === undefined || service === undefined) {
    throw new LaunchError('The demo ended before it was ready.');
  }
  demo.stdout.resume();
  return {
    address,
    service,
    end: async () => {
      demo.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * Signs in from the landing page and presses a button on the consent page.
 * @param {import('playwright-core').Page} page
 * @param {string} address
 * @param {'Allow' | 'Deny'} [consent]
 */
export async function signIn(page, address, consent = 'Allow') {
  await page.goto(address);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.origin !== address);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: consent, exact: true }).click();
  await page.waitForURL((url) => url.origin === address);
}
