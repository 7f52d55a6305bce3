/**
 * Exports a list without leaving the page. Shows a running count and a *Stop* button, and saves the file only when it is
 * complete. Without this script, the links are plain downloads.
 */
import { createTemporaryUrl } from '../blob-url.ts';
import { contentRemovedSignal } from '../content-removed.ts';
import { formatDuration } from '../countdown.ts';
import { make } from '../elements.ts';
import { createExportStatus } from './export-status.ts';
import { createLineCount, createRecordCount } from './item-counts.ts';
import { formatItems } from './item-names.ts';
import { goToSignIn, SignInRequired } from '../sign-in.ts';

/** The export could not start. The message gives the reason and says what the user can do. */
class ExportRefused extends Error {}

/** Number of running exports, which would stop if the user left the page. */
let underWay = 0;

/** Handles the clicks on every export link under `root`. */
export function startExports(root: ParentNode) {
  for (const link of root.querySelectorAll('a[data-export]')) {
    const place = link.closest('[data-exports]')?.querySelector('[data-export-progress]');
    if (link instanceof HTMLAnchorElement && place instanceof HTMLElement) handleClicks(link, place);
  }
}

function handleClicks(link: HTMLAnchorElement, place: HTMLElement) {
  let isBusy = false;
  link.addEventListener('click', (event) => {
    // With these modifier keys, the browser opens the link in another tab or window, or saves the file.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    void runExport(link, place).finally(() => (isBusy = false));
  });
}

async function runExport(link: HTMLAnchorElement, place: HTMLElement) {
  const label = link.dataset['export'] ?? '';
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, contentRemovedSignal]);
  const status = createExportStatus(link, place, () => stopping.abort());
  const count = new URL(link.href).pathname.endsWith('.csv') ? createRecordCount() : createLineCount();
  let items = 0;
  beginUnloadWarning();
  const fetched = fetchFile(link.href, signal, (bytes) => {
    items = count(bytes);
    status.showCount(items);
  });
  try {
    const file = await fetched.finally(endUnloadWarning);
    signal.throwIfAborted(); // the abort may have come after the last byte
    make('a', { href: createTemporaryUrl(file), download: file.name }).click();
    status.end(`${formatItems(items)} saved as ${file.name}`);
  } catch (error) {
    // When a connection fails, browsers discard unread bytes, so the count may be 0. Omit a count of 0.
    const after = items === 0 ? '' : ` after ${formatItems(items)}`;
    if (error instanceof SignInRequired) goToSignIn();
    else if (signal.aborted) status.end(`${label} export stopped. Nothing was saved.`);
    else if (error instanceof ExportRefused)
      status.fail(`The ${label} export could not start. ${error.message}`);
    else status.fail(`${label} export failed${after}. Nothing was saved.`);
  }
}

/**
 * Fetches a complete file. Rejects with SignInRequired, ExportRefused, the signal's reason, or a TypeError if the connection
 * fails during the transfer.
 */
async function fetchFile(
  url: string,
  signal: AbortSignal,
  onBytes: (bytes: Uint8Array) => void,
): Promise<File> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal,
  }).catch(() => {
    signal.throwIfAborted();
    throw new ExportRefused(navigator.onLine ? 'Cloakroom did not respond.' : 'You are offline.');
  });
  if (response.type === 'opaqueredirect' || response.status === 401) throw new SignInRequired();
  if (!response.ok || response.body === null) throw new ExportRefused(await readProblem(response));
  const watched: TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> = new TransformStream({
    transform(bytes, controller) {
      onBytes(bytes);
      controller.enqueue(bytes);
    },
  });
  // The browser stores a large blob on disk.
  const blob = await new Response(response.body.pipeThrough(watched)).blob();
  const name = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
  return new File([blob], name ?? 'export', { type: response.headers.get('content-type') ?? '' });
}

/** Returns the message for a problem response (RFC 9457). */
async function readProblem(response: Response) {
  const problem = (await response.json().catch(() => null)) as unknown;
  const { title, detail } = (problem ?? {}) as Record<string, unknown>;
  const sentences = [title, detail].filter((text) => typeof text === 'string');
  const seconds = Number(response.headers.get('retry-after') ?? NaN);
  const requestId = response.headers.get('x-request-id');
  return [
    sentences.length === 0 ? 'Try again in a moment.' : sentences.join('. '),
    ...(seconds > 0 ? [`Try again in ${formatDuration(seconds)}.`] : []),
    ...(requestId === null ? [] : [`Request ID: ${requestId}`]),
  ].join(' ');
}

function beginUnloadWarning() {
  underWay += 1;
  if (underWay === 1) addEventListener('beforeunload', warn);
}

function endUnloadWarning() {
  underWay -= 1;
  if (underWay === 0) removeEventListener('beforeunload', warn);
}

/** Makes the browser ask for confirmation before the user leaves the page. */
function warn(event: BeforeUnloadEvent) {
  event.preventDefault();
}
