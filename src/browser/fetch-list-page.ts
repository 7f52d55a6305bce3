/** Fetches the next page of a list, with pauses and retries. */
import { formatDuration } from './countdown.ts';
import { SignInRequired } from './sign-in.ts';

const MAX_PAUSES = 5;
const MAX_PAUSE_SECONDS = 60;

export interface ListPage {
  readonly items: Element[];
  /** The URL of the page after this one. */
  readonly next: string | null;
}

/** The server responded with an error page. The message contains the title and request id of that page. */
export class PageFailed extends Error {}

/** The page does not continue the list, so items would be missing or repeated. */
export class ListChanged extends Error {}

/** The page belongs to another session, whose items must not be shown here. */
export class OtherSession extends Error {}

export function nextPageUrl(page: ParentNode) {
  return page.querySelector('a[rel="next"]')?.getAttribute('href') ?? null;
}

/** Returns the position of the page’s first item in the list, counted from 1. */
export function firstItemNumber(page: ParentNode) {
  return Number(page.querySelector('[data-first]')?.getAttribute('data-first') ?? NaN);
}

/**
 * Fetches the page at `url`, whose first item is number `first`. Rejects with PageFailed, ListChanged, OtherSession,
 * SignInRequired, the signal's reason, or a TypeError if the connection fails.
 */
export async function fetchListPage(
  { url, first }: { url: string; first: number },
  signal: AbortSignal,
  onPause: (words: string) => void,
): Promise<ListPage> {
  for (let pauses = 0; ; pauses += 1) {
    const response = await fetch(url, { headers: { accept: 'text/html' }, redirect: 'manual', signal });
    const mayPause = pauses < MAX_PAUSES;
    const seconds = mayPause ? pauseOf(response) : NaN;
    if (seconds > 0) {
      onPause(`Too many requests just now. Continuing in ${formatDuration(seconds)}…`);
      await pause(seconds, signal);
      continue;
    }
    if (response.type === 'opaqueredirect') throw new SignInRequired();
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    if (!response.ok) throw new PageFailed(toMessage(page, response));
    if (page.body.dataset['session'] !== document.body.dataset['session']) throw new OtherSession();
    const next = nextPageUrl(page);
    if (firstItemNumber(page) === first && next !== url)
      return { items: [...page.querySelectorAll('[data-items] > li')], next };
    // If the cursor has expired, the server looks for the page again. If that search reaches a limit, the server responds with
    // an earlier page, and the next attempt continues from there.
    const isEarlier = firstItemNumber(page) < first && next !== null;
    if (!isEarlier || !mayPause) throw new ListChanged();
    const retrySeconds = 2 ** pauses;
    onPause(`The next page can’t be loaded. Trying again in ${formatDuration(retrySeconds)}…`);
    await pause(retrySeconds, signal);
  }
}

function toMessage(page: Document, { status, headers }: Response) {
  const title = page.querySelector('h1')?.textContent ?? `Error ${status}`;
  const requestId = headers.get('x-request-id');
  return requestId === null ? title : `${title} (request ID: ${requestId})`;
}

/** Returns the wait in seconds from the `Retry-After` header of a 429 or 503 response, otherwise NaN. */
function pauseOf({ status, headers }: Response) {
  const seconds = Number(headers.get('retry-after') ?? NaN);
  if ((status !== 503 && status !== 429) || !(seconds >= 0)) return NaN;
  return Math.min(Math.max(seconds, 1), MAX_PAUSE_SECONDS);
}

function pause(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Error('stopped'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1_000);
    signal.addEventListener('abort', stop, { once: true });
  });
}
