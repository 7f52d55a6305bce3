/** What pages remember for their tab. */

/** Stands in where a browser gives pages no storage: to ask for it throws there. */
const NOTHING = { getItem: () => null, setItem() {}, removeItem() {}, clear() {} };

/** @returns {Pick<Storage, keyof typeof NOTHING>} */
export function tabStorage() {
  try {
    return sessionStorage;
  } catch {
    return NOTHING;
  }
}
