/** Fetching a file piece by piece, and keeping it once it is whole. */
import { toBriefAddress } from './blob-url.js';
import { make } from './elements.js';
import { SignInNeeded } from './sign-in.js';

/** No file comes; the message says why, and what a person can do. */
export class Refused extends Error {}

/**
 * The whole file and its name. Throws SignInNeeded, Refused, the signal's reason, or a TypeError where the connection
 * is cut.
 * @param {string} address
 * @param {AbortSignal} signal
 * @param {(bytes: Uint8Array) => void} onBytes Hears of all that comes.
 * @returns {Promise<File>}
 */
export async function fetchFile(address, signal, onBytes) {
  const answer = await fetch(address, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal,
  }).catch(() => {
    signal.throwIfAborted();
    throw new Refused(toNoAnswer());
  });
  if (answer.type === 'opaqueredirect' || answer.status === 401) throw new SignInNeeded();
  if (!answer.ok || answer.body === null) throw new Refused(await readWords(answer));
  /** @type {TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>} */
  const watched = new TransformStream({
    transform(bytes, onwards) {
      onBytes(bytes);
      onwards.enqueue(bytes);
    },
  });
  // The browser keeps what has come, on disk where it is much.
  const whole = await new Response(answer.body.pipeThrough(watched)).blob();
  const name = /filename="([^"]+)"/.exec(answer.headers.get('content-disposition') ?? '')?.[1];
  return new File([whole], name ?? 'export', { type: answer.headers.get('content-type') ?? '' });
}

function toNoAnswer() {
  return navigator.onLine ? 'Cloakroom did not answer.' : 'You are offline.';
}

/**
 * From problem+json (RFC 9457).
 * @param {Response} answer
 */
async function readWords(answer) {
  const problem = /** @type {unknown} */ (await answer.json().catch(() => null));
  const { title, detail } = /** @type {Record<string, unknown>} */ (problem ?? {});
  const said = [title, detail].filter((each) => typeof each === 'string');
  const seconds = Number(answer.headers.get('retry-after') ?? NaN);
  const requestId = answer.headers.get('x-request-id');
  return [
    said.length === 0 ? 'Try again in a moment.' : said.join('. '),
    ...(seconds > 0 ? [`Try again in ${seconds} s.`] : []),
    ...(requestId === null ? [] : [`Reference: ${requestId}`]),
  ].join(' ');
}

/**
 * Puts a file where the browser keeps downloads.
 * @param {File} file
 */
export function saveFile(file) {
  make('a', { href: toBriefAddress(file), download: file.name }).click();
}
