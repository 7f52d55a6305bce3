import { expect, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import { complaintsOf } from '../support/e2e/security-faults.ts';
import { pageFaults } from '../support/e2e/sound-page.ts';
import { startStage } from '../support/e2e/stage.ts';

const stage = startStage();

test.each(VIEWS)('$name without JavaScript: clean for axe, as wide as a phone', async (view) => {
  await using shown = await stage.show(view, { javaScriptEnabled: false, width: 360, colorScheme: 'dark' });
  expect(await pageFaults(shown)).toEqual([]);
  expect(complaintsOf(shown)).toEqual([]);
});
