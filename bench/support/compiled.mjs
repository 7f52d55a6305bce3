/**
 * Loads a module of the compiled app, because benchmarks measure the code that runs in production. Callers import the types from src.
 * @param {string} path relative to dist
 * @returns {Promise<unknown>}
 */
export async function fromDist(path) {
  return import(new URL(`../../dist/${path}`, import.meta.url).href);
}
