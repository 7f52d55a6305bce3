import { startChromium } from '../chromium.mjs';
import { signIn, startDemo } from '../running-demo.mjs';
import { clearFaults, setFault } from './faults.mjs';
import { EVERY_LOOK, LOOKS } from './looks.mjs';

/** @typedef {import('./states.mjs').State} State */

/**
 * Opens a page of the demo in a given state and takes screenshots.
 * @typedef {object} Photographer
 * @property {(state: State) => Promise<string[]>} take Resolves to the file names, in the order of the looks.
 * @property {() => Promise<void>} end
 */

/**
 * @param {string} folder
 * @returns {Promise<Photographer>}
 */
export async function openPhotographer(folder) {
  const demo = await startDemo();
  const chromium = await startChromium();
  const session = await signInOnce(chromium, demo.address);

  return {
    async take({
      name,
      path,
      signedOut,
      javaScript = true,
      fault,
      act,
      about,
      looks = EVERY_LOOK,
      whole = false,
    }) {
      const context = await chromium.newContext({
        ...LOOKS['desk-light'],
        ...(!signedOut && { storageState: session }),
        javaScriptEnabled: javaScript,
        locale: 'en-GB',
        timezoneId: 'UTC',
      });
      try {
        await clearFaults(demo.service);
        if (fault !== undefined) await setFault(demo.service, fault);
        const page = await context.newPage();
        page.setDefaultTimeout(20_000);
        if (path !== undefined) await page.goto(demo.address + path);
        await act?.(page, demo);

        const files = [];
        for (const look of looks) {
          const { viewport, colorScheme } = LOOKS[look];
          await page.setViewportSize(viewport);
          await page.emulateMedia({ colorScheme });
          if (whole) await growViewport(page, viewport);
          if (about !== undefined)
            await page.evaluate(`document.querySelector('${about}').scrollIntoView({ block: 'center' })`);
          const file = `${name}-${look}.png`;
          await page.screenshot({ path: `${folder}/${file}` });
          files.push(file);
        }
        return files;
      } catch (cause) {
        throw new Error(`The state ${name} could not be reached`, { cause });
      } finally {
        await context.close();
      }
    },
    async end() {
      await chromium.close();
      await demo.end();
    },
  };
}

/**
 * Makes the viewport as tall as the page. Otherwise, elements at the edge of the viewport would appear in the middle of the screenshot.
 * @param {import('playwright-core').Page} page
 * @param {{ width: number, height: number }} viewport
 */
async function growViewport(page, { width, height }) {
  const whole = Number(await page.evaluate('document.documentElement.scrollHeight'));
  await page.setViewportSize({ width, height: Math.max(whole, height) });
}

/**
 * @param {import('playwright-core').Browser} chromium
 * @param {string} address
 */
async function signInOnce(chromium, address) {
  const context = await chromium.newContext();
  await signIn(await context.newPage(), address);
  const session = await context.storageState();
  await context.close();
  return session;
}
