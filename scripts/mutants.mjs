import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './launch.mjs';

/**
 * @typedef {object} Mutant A small change to the source that must make a test fail.
 * @property {string} name The behaviour that the mutant breaks.
 * @property {string} file
 * @property {string} search Text in the file.
 * @property {number} [times] How often the text occurs, by default once.
 * @property {string} replace
 * @property {readonly string[]} tests Test files, at least one of which must fail.
 * @property {boolean} [build] Whether the tests start processes, which need a build.
 */

/** @returns {readonly Mutant[]} */
export function readMutants() {
  return /** @type {Mutant[]} */ (JSON.parse(readFileSync(join(root, 'test', 'mutants.json'), 'utf8')));
}

/**
 * Returns the mutated source. Throws unless the text to replace occurs exactly `times` times.
 * @param {string} source
 * @param {Pick<Mutant, 'search' | 'times' | 'replace'>} mutant
 */
export function applyMutant(source, { search, times = 1, replace }) {
  const found = source.split(search).length - 1;
  if (found !== times) throw new Error(`occurs ${found} times instead of ${times}: ${search}`);
  if (search === replace) throw new Error(`changes nothing: ${search}`);
  return source.replaceAll(search, () => replace);
}
