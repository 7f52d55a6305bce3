/** Saving a body as a file. */
import { toBriefAddress } from '../blob-address.js';
import { make } from '../elements.js';

/**
 * A link that saves a body under the last name of the path that it came from.
 * @param {Blob} body
 * @param {string} path
 */
export function toSaveLink(body, path) {
  const name = /([^/?]+)\/*(?:\?.*)?$/.exec(path)?.[1]?.replaceAll(/[^\w.-]/g, '_') ?? 'answer';
  const link = make(
    'a',
    { class: 'button button--small', download: name, href: '#', 'aria-label': `Save the body as ${name}` },
    ['Save'],
  );
  link.addEventListener('click', () => (link.href = toBriefAddress(body)));
  return link;
}
