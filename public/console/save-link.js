/** Saving a body as a file. */
import { make } from './elements.js';

/** How long a browser may take to begin. */
const KEPT_MS = 60_000;

/**
 * A link that saves a body under the last name of the path that it came from.
 * @param {Blob} body
 * @param {string} path
 */
export function toSaveLink(body, path) {
  const name = /([^/?]+)\/*(?:\?.*)?$/.exec(path)?.[1]?.replaceAll(/[^\w.-]/g, '_');
  const link = make('a', { class: 'button button--small', download: name ?? 'answer', href: '#' }, ['Save']);
  // Made when it is wanted: an address of a blob keeps all of it in memory.
  link.addEventListener('click', () => {
    const address = URL.createObjectURL(body);
    link.href = address;
    setTimeout(() => URL.revokeObjectURL(address), KEPT_MS);
  });
  return link;
}
