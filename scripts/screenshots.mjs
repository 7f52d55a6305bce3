import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { launch, LaunchError, root } from './launch.mjs';

/** Pictures of the running demo for the documentation, into docs/images/. */

const FOLDER = `${root}docs/images`;
const DESK = { width: 1_280, height: 860 };
const PHONE = { width: 360, height: 740 };
/**
 * Starts the demo on free ports and resolves with its address once it prints that.
 * @param {import('node:child_process').ChildProcess} demo
 */
async function addressOf(demo) {
  if (demo.stdout === null) throw new Error('The demo has no output to read.');
  for await (const line of createInterface(demo.stdout)) {
    const address = /https?:\/\/localhost:\d+/.exec(line)?.[0];
    if (address !== undefined) return address;
  }
  throw new LaunchError('The demo ended before it was ready.');
}

/**
 * Goes from the landing page through the service's own pages to the answer of a consent button. Resolves with the
 * service's address.
 * @param {import('playwright-core').Page} page
 * @param {string} address
 * @param {'Allow' | 'Deny'} answer
 */
async function signIn(page, address, answer) {
  await page.goto(address);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.origin !== address);
  const service = new URL(page.url()).origin;
  // The service remembers who signed in before.
  const user = page.getByLabel('User name');
  if (await user.isVisible()) {
    await user.fill('demo');
    await page.getByLabel('Password').fill('demo');
    await page.getByRole('button', { name: 'Sign in' }).click();
  }
  await page.getByRole('button', { name: answer, exact: true }).click();
  await page.waitForURL((url) => url.origin === address);
  return service;
}

/**
 * @param {import('playwright-core').Browser} browser
 * @param {string} address
 */
async function takePictures(browser, address) {
  const context = await browser.newContext({
    viewport: DESK,
    colorScheme: 'light',
    javaScriptEnabled: false,
  });
  const page = await context.newPage();
  /** @param {string} name */
  const take = async (name) => {
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
    console.log(`docs/images/${name}.png`);
  };

  await page.goto(address);
  await take('landing');
  await signIn(page, address, 'Deny');
  await take('error');
  const service = await signIn(page, address, 'Allow');
  await take('workspaces');

  await page.emulateMedia({ colorScheme: 'dark' });
  await take('workspaces-dark');
  await page.setViewportSize(PHONE);
  await take('workspaces-phone-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await take('workspaces-phone');

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${address}/`);
  await page.getByRole('link', { name: 'Sign in' }).waitFor();
  await take('landing-phone');

  await page.setViewportSize(DESK);
  await page.goto(`${service}/_faults`);
  await page.getByRole('button', { name: 'Next list fails (500)' }).click();
  await page.waitForURL(`${service}/_faults#now`);
  await take('faults');
}

await launch(async () => {
  await ensurePackages();
  await ensureProgram('chromium', 'chromium');
  const { startChromium } = await import('./chromium.mjs');
  const demo = spawn(process.execPath, ['scripts/demo.mjs'], {
    cwd: root,
    env: { ...process.env, PORT: '0', LOCAL_SERVICE_PORT: '0', LOCAL_SERVICE_FAULTS: 'true' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(demo, 'exit');
  try {
    const address = await addressOf(demo);
    const browser = await startChromium();
    try {
      await mkdir(FOLDER, { recursive: true });
      await takePictures(browser, address);
    } finally {
      await browser.close();
    }
  } finally {
    demo.kill('SIGTERM');
    await ended;
  }
});
