import { expect, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import { complaintsOf, securityFaults } from '../support/e2e/security-faults.ts';
import { faultsInBothLooks, htmlFaults } from '../support/e2e/sound-page.ts';
import { startStage } from '../support/e2e/stage.ts';

const stage = startStage({ inOnePage: true });

test.each(VIEWS)(
  '$name: valid HTML, nothing inline or from others, clean for axe, as wide as the screen',
  async (view) => {
    await using shown = await stage.show(view);
    expect(shown.status).toBe(view.status);
    expect(await htmlFaults(shown.html)).toEqual([]);
    expect(await securityFaults(shown)).toEqual([]);
    expect(await faultsInBothLooks(shown)).toEqual([]);
    expect(complaintsOf(shown)).toEqual([]);
  },
);

test.each(VIEWS)('$name without JavaScript: clean for axe, as wide as the screen', async (view) => {
  await using shown = await stage.show(view, { javaScriptEnabled: false });
  expect(await faultsInBothLooks(shown)).toEqual([]);
  expect(complaintsOf(shown)).toEqual([]);
});
