/** Fetches the next page of a list, with pauses and retries. */
import { formatDuration } from '../countdown.ts';
import { SignInRequired } from '../sign-in.ts';

const MAX_PAUSES = 5;
const MAX_PAUSE_SECONDS = 60;
/** The largest page size that Cloakroom offers. */
const PAGE_SIZE = 100;

/** The position at which a list continues. */
interface Continuation {
  /** The URL of the next page. */
  readonly url: string;
  /** Number of the next item in the list, counted from 1. */
  readonly first: number;
  /** Name of the item before that one. */
  readonly after: string;
}

export interface ListPage {
  /** A list element with the items. */
  readonly list: HTMLElement;
  /** The URL of the page after this one. */
  readonly next: string | null;
}

/** The server responded with an error page. The message contains the title and request id of that page. */
export class PageFailed extends Error {}

/** The page does not continue the list, so items would be missing or repeated. */
export class ListChanged extends Error {}

/** The page belongs to another session, whose items must not be shown here. */
export class OtherSession extends Error {}

/** Returns the URL of the next page of the list, or null on the last page. */
export function nextPageUrl(page: ParentNode) {
  return page.querySelector('a[rel="next"]')?.getAttribute('href') ?? null;
}

/** Returns the position of the page’s first item in the list, counted from 1. */
export function firstItemNumber(page: ParentNode) {
  return Number(page.querySelector('[data-first]')?.getAttribute('data-first') ?? NaN);
}

/** Returns the name that an item shows. */
export function nameOf(item: Element | null | undefined) {
  return item?.querySelector('.item__name')?.textContent ?? '';
}

/**
 * Fetches the items from a position in the list up to the end of a page of 100 items. Rejects with PageFailed, ListChanged,
 * OtherSession, SignInRequired, the signal's reason, or a TypeError if the connection fails.
 */
export async function fetchListPage(
  { url, first, after }: Continuation,
  signal: AbortSignal,
  onPause: (words: string) => void,
): Promise<ListPage> {
  for (let pauses = 0; ; pauses += 1) {
    const response = await fetch(toLargePage(url, first - 1), {
      headers: { accept: 'text/html' },
      redirect: 'manual',
      signal,
    });
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
    const list = page.querySelector<HTMLElement>('[data-items] > ul');
    const items = [...(list?.children ?? [])];
    const known = first - firstItemNumber(page);
    if (list !== null && known >= 0 && known < items.length) {
      if (known > 0 && nameOf(items[known - 1]) !== after) throw new ListChanged();
      for (const item of items.slice(0, known)) item.remove();
      return { list, next };
    }
    // If the cursor has expired, the server looks for the page again. If that search reaches a limit, the server responds with
    // an earlier page, and the next attempt continues from there.
    const isEarlier = known > 0 && next !== null;
    if (!isEarlier || !mayPause) throw new ListChanged();
    const retrySeconds = 2 ** pauses;
    onPause(`The next page can’t be loaded. Trying again in ${formatDuration(retrySeconds)}…`);
    await pause(retrySeconds, signal);
  }
}

/**
 * Returns the URL of the page of 100 items that contains the next item. The cursors of smaller pages are not valid for it, so its
 * first items may be `shown` already. If the service ignored the page size in `next`, returns `next`.
 */
function toLargePage(next: string, shown: number) {
  const url = new URL(next, location.href);
  const { searchParams } = url;
  if (Number(searchParams.get('limit')) * (Number(searchParams.get('page')) - 1) !== shown) return next;
  searchParams.set('limit', String(PAGE_SIZE));
  searchParams.set('page', String(Math.floor(shown / PAGE_SIZE) + 1));
  return url.href;
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
