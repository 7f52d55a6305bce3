const DESK = { width: 1_280, height: 860 };
const PHONE = { width: 360, height: 740 };

/** Viewports and colour schemes of the screenshots, keyed by file name suffix. */
export const LOOKS = /** @type {const} */ ({
  'desk-light': { viewport: DESK, colorScheme: 'light' },
  'desk-dark': { viewport: DESK, colorScheme: 'dark' },
  'phone-light': { viewport: PHONE, colorScheme: 'light' },
  'phone-dark': { viewport: PHONE, colorScheme: 'dark' },
});

/** @typedef {keyof typeof LOOKS} LookName */

export const EVERY_LOOK = /** @type {readonly LookName[]} */ (Object.keys(LOOKS));
