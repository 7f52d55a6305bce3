import { expect, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import { complaintsOf, securityFaults } from '../support/e2e/security-faults.ts';
import { faultsInBothLooks, htmlFaults } from '../support/e2e/page-checks.ts';
import { useViewBrowser } from '../support/e2e/view-browser.ts';

const shownViews = useViewBrowser({ inOnePage: true });

test.each(VIEWS)(
  'the page "$name" is valid, secure and accessible, and does not scroll horizontally',
  async (view) => {
    await using shown = await shownViews.show(view);
    expect(shown.status).toBe(view.status);
    expect(await htmlFaults(shown.html)).toEqual([]);
    expect(await securityFaults(shown)).toEqual([]);
    expect(await faultsInBothLooks(shown)).toEqual([]);
    expect(complaintsOf(shown)).toEqual([]);
  },
);

test.each(VIEWS)(
  'without JavaScript, the page "$name" is accessible and does not scroll horizontally',
  async (view) => {
    await using shown = await shownViews.show(view, { javaScriptEnabled: false });
    expect(await faultsInBothLooks(shown)).toEqual([]);
    expect(complaintsOf(shown)).toEqual([]);
  },
);
