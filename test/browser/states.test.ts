import { expect, test } from '@jest/globals';
import { complaintsOf, securityFaults } from '../support/e2e/security-faults.ts';
import { faultsInBothLooks } from '../support/e2e/page-checks.ts';
import { useViewBrowser } from '../support/e2e/view-browser.ts';
import { STATES } from '../support/e2e/states.ts';

const shownViews = useViewBrowser({ inOnePage: true });

test.each(STATES)(
  '$name: no inline code, no other origin, no axe violation, no horizontal scroll',
  async (state) => {
    await using shown = await shownViews.show(state);
    expect(shown.status).toBe(state.status);
    expect(await securityFaults(shown)).toEqual([]);
    expect(await faultsInBothLooks(shown)).toEqual([]);
    expect(await shown.page.evaluate('window.pwned')).toBeUndefined();
    expect(complaintsOf(shown)).toEqual([]);
  },
);
