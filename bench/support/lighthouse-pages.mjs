import lighthouse, { desktopConfig } from 'lighthouse';

/** Lighthouse's phone with a slow network and processor, and its desktop. */
export const FORM_FACTORS = /** @type {const} */ (['mobile', 'desktop']);

const MOST_TRIES = 3;

/** @typedef {'performance' | 'accessibility' | 'best-practices' | 'seo'} Category */

/**
 * Resolves to what Lighthouse reports for one page: the score of each category, of 100, and the audits below the best score.
 * @param {string} address
 * @param {object} options
 * @param {number} options.port of Chromium's debugging protocol
 * @param {(typeof FORM_FACTORS)[number]} options.formFactor
 * @param {string} [options.cookie] of a session
 * @returns {Promise<{ scores: Record<Category, number>, faults: { category: Category, words: string }[] }>}
 */
export async function judgePage(address, { port, formFactor, cookie }) {
  const flags = { port, logLevel: 'error', ...(cookie !== undefined && { extraHeaders: { cookie } }) };
  const config = formFactor === 'desktop' ? desktopConfig : undefined;
  let result = await lighthouse(address, flags, config);
  // On a busy machine the trace may lack its start. Try again.
  for (let tries = 1; tries < MOST_TRIES && result?.lhr.runtimeError !== undefined; tries += 1) {
    result = await lighthouse(address, flags, config);
  }
  if (result === undefined || result.lhr.runtimeError !== undefined) {
    throw new Error(`Lighthouse could not look at ${address}: ${result?.lhr.runtimeError?.message}`);
  }
  const { categories, audits, finalDisplayedUrl } = result.lhr;
  if (finalDisplayedUrl !== address) throw new Error(`${address} led to ${finalDisplayedUrl}`);
  const all = /** @type {Category[]} */ (Object.keys(categories));
  const scoreOf = (/** @type {Category} */ category) => Math.round((categories[category]?.score ?? 0) * 100);
  return {
    scores: /** @type {Record<Category, number>} */ (
      Object.fromEntries(all.map((each) => [each, scoreOf(each)]))
    ),
    faults: all.flatMap((category) => {
      const { auditRefs = [] } = categories[category] ?? {};
      return auditRefs.flatMap(({ id }) => {
        const { score, title, displayValue } = audits[id] ?? {};
        if (typeof score !== 'number' || score === 1) return [];
        const value = displayValue === undefined ? '' : ` (${displayValue.replaceAll('\u00A0', ' ')})`;
        return [{ category, words: `${score.toFixed(2)} ${title}${value}` }];
      });
    }),
  };
}
