import lighthouse, { desktopConfig } from 'lighthouse';

/** The form factors that Lighthouse simulates: a phone with a slow network and CPU, and a desktop. */
export const FORM_FACTORS = /** @type {const} */ (['mobile', 'desktop']);

const MAX_ATTEMPTS = 3;

/** @typedef {'performance' | 'accessibility' | 'best-practices' | 'seo'} Category */

/**
 * Audits one page with Lighthouse. Resolves to the score in each category, out of 100, and the audits below the maximum score.
 * @param {string} address
 * @param {object} options
 * @param {number} options.port Chromium's debugging port
 * @param {(typeof FORM_FACTORS)[number]} options.formFactor
 * @param {string} [options.cookie] the `Cookie` header of a session
 * @returns {Promise<{ scores: Record<Category, number>, failedAudits: { category: Category, description: string }[] }>}
 */
export async function auditPage(address, { port, formFactor, cookie }) {
  const flags = { port, logLevel: 'error', ...(cookie !== undefined && { extraHeaders: { cookie } }) };
  const config = formFactor === 'desktop' ? desktopConfig : undefined;
  let result = await lighthouse(address, flags, config);
  // On a busy machine, the start of the trace may be missing. Try again.
  for (let attempt = 1; attempt < MAX_ATTEMPTS && result?.lhr.runtimeError !== undefined; attempt += 1) {
    result = await lighthouse(address, flags, config);
  }
  if (result === undefined || result.lhr.runtimeError !== undefined) {
    throw new Error(`Lighthouse failed for ${address}: ${result?.lhr.runtimeError?.message}`);
  }
  const { categories, audits, finalDisplayedUrl } = result.lhr;
  if (finalDisplayedUrl !== address) throw new Error(`${address} redirected to ${finalDisplayedUrl}.`);
  const all = /** @type {Category[]} */ (Object.keys(categories));
  const scoreOf = (/** @type {Category} */ category) => Math.round((categories[category]?.score ?? 0) * 100);
  return {
    scores: /** @type {Record<Category, number>} */ (
      Object.fromEntries(all.map((each) => [each, scoreOf(each)]))
    ),
    failedAudits: all.flatMap((category) => {
      const { auditRefs = [] } = categories[category] ?? {};
      return auditRefs.flatMap(({ id }) => {
        const { score, title, displayValue } = audits[id] ?? {};
        if (typeof score !== 'number' || score === 1) return [];
        const value = displayValue === undefined ? '' : ` (${displayValue.replaceAll('\u00A0', ' ')})`;
        return [{ category, description: `${score.toFixed(2)} ${title}${value}` }];
      });
    }),
  };
}
