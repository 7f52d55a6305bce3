import { expect, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import { unexpectedErrors, securityViolations } from '../support/e2e/security-violations.ts';
import { violationsInBothLooks, htmlViolations } from '../support/e2e/page-checks.ts';
import { useViewBrowser } from '../support/e2e/view-browser.ts';

const shownViews = useViewBrowser({ sharePage: true });

test.each(VIEWS)(
  'the page "$name" is valid, secure and accessible, and does not scroll sideways',
  async (view) => {
    await using shown = await shownViews.show(view);
    expect(shown.status).toBe(view.status);
    expect(await htmlViolations(shown.html)).toEqual([]);
    expect(await securityViolations(shown)).toEqual([]);
    expect(await violationsInBothLooks(shown)).toEqual([]);
    expect(unexpectedErrors(shown)).toEqual([]);
  },
);

test.each(VIEWS)('without JavaScript, "$name" is accessible and does not scroll sideways', async (view) => {
  await using shown = await shownViews.show(view, { javaScriptEnabled: false });
  expect(await violationsInBothLooks(shown)).toEqual([]);
  expect(unexpectedErrors(shown)).toEqual([]);
});
