/**
 * Loads a module of the compiled app: benchmarks measure what is shipped. The import's
 * type comes from the file of src.
 * @param {string} path below dist
 * @returns {Promise<unknown>}
 */
export async function fromDist(path) {
  return import(new URL(`../../dist/${path}`, import.meta.url).href);
}
