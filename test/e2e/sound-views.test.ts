import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import { complaintsOf } from '../support/e2e/security-faults.ts';
import { htmlFaults, pageFaults } from '../support/e2e/sound-page.ts';
import { STATES } from '../support/e2e/states.ts';
import { openStage } from '../support/e2e/stage.ts';
import type { Stage } from '../support/e2e/stage.ts';
import { lookAgain } from '../support/e2e/watched-page.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
}, 60_000);
afterAll(async () => stage?.[Symbol.asyncDispose](), 60_000);

test.each(VIEWS)(
  '$name is valid HTML, clean for axe and as wide as the screen, however looked at',
  async (view) => {
    await using shown = await stage.show(view);
    expect(await htmlFaults(shown.html)).toEqual([]);
    for (const colorScheme of ['light', 'dark'] as const) {
      for (const width of [1280, 360] as const) {
        await lookAgain(shown, { colorScheme, width });
        expect(await pageFaults(shown)).toEqual([]);
      }
    }
    expect(complaintsOf(shown)).toEqual([]);
  },
  60_000,
);

test.each(VIEWS)(
  '$name is clean for axe and as wide as a phone without JavaScript',
  async (view) => {
    await using shown = await stage.show(view, { javaScriptEnabled: false, width: 360, colorScheme: 'dark' });
    expect(await pageFaults(shown)).toEqual([]);
    expect(complaintsOf(shown)).toEqual([]);
  },
  60_000,
);

/** Most of a state is its view, which is looked at above: two looks that have nothing in common are enough. */
const FEW = [
  { width: 1280, colorScheme: 'light' },
  { width: 360, colorScheme: 'dark' },
] as const;

test.each(STATES)(
  '$name is clean for axe and as wide as the screen',
  async (state) => {
    await using shown = await stage.show(state);
    for (const look of FEW) {
      await lookAgain(shown, look);
      expect(await pageFaults(shown)).toEqual([]);
    }
    expect(await shown.page.evaluate('window.pwned')).toBeUndefined();
    expect(complaintsOf(shown)).toEqual([]);
  },
  60_000,
);
