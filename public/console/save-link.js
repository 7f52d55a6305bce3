/** Saving a body as a file. */
import { toBriefAddress } from '../blob-url.js';
import { make } from '../elements.js';
import { isJsonType } from './body-text.js';

/**
 * A link that saves a body under the last name of the path that it came from.
 * @param {Blob} body
 * @param {string} path
 * @param {string} contentType
 */
export function toSaveLink(body, path, contentType) {
  const last = /([^/?]+)\/*(?:\?.*)?$/.exec(path)?.[1]?.replaceAll(/[^\w.-]/g, '_') ?? 'answer';
  // Without one a browser guesses, and takes JSON for .txt.
  const name = isJsonType(contentType) && !/\.\w+$/.test(last) ? `${last}.json` : last;
  const link = make(
    'a',
    { class: 'button button--small', download: name, href: '#', 'aria-label': `Save the body as ${name}` },
    ['Save'],
  );
  link.addEventListener('click', () => (link.href = toBriefAddress(body)));
  return link;
}
