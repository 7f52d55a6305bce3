/**
 * Loads a module of the compiled app: what is measured is what is shipped. The client says which file of src its types
 * are in.
 * @param {string} path below dist
 * @returns {Promise<unknown>}
 */
export async function fromDist(path) {
  return import(new URL(`../../dist/${path}`, import.meta.url).href);
}
