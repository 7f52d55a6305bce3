/**
 * Exports without leaving the page: a count of items as they come, a way to stop, and a file only when it is whole. Without
 * this script the links are plain downloads.
 */
import { counted } from './counts.js';
import { fetchFile, Refused, saveFile } from './download.js';
import { createExportLine } from './export-status.js';
import { createLineCount, createRecordCount } from './item-counts.js';
import { putAwaySignal } from './content-removed.js';
import { goToSignIn, SignInNeeded } from './sign-in.js';

/** Exports under way on this page: to leave it would end them. */
let underWay = 0;

/**
 * Takes over every link under `root` that is marked as an export.
 * @param {ParentNode} root
 */
export function startExports(root) {
  for (const link of root.querySelectorAll('a[data-export]')) {
    const place = link.closest('[data-exports]')?.querySelector('[data-export-progress]');
    if (link instanceof HTMLAnchorElement && place instanceof HTMLElement) takeOver(link, place);
  }
}

/**
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 */
function takeOver(link, place) {
  let isBusy = false;
  link.addEventListener('click', (event) => {
    // With one of these keys a click is the browser's.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    void run(link, place).finally(() => (isBusy = false));
  });
}

/**
 * @param {HTMLAnchorElement} link
 * @param {HTMLElement} place
 */
async function run(link, place) {
  const label = link.dataset['export'] ?? '';
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, putAwaySignal]);
  const line = createExportLine(link, place, () => stopping.abort());
  const { pathname } = new URL(link.href);
  const count = pathname.endsWith('.csv') ? createRecordCount() : createLineCount();
  let items = 0;
  keepPage();
  const fetched = fetchFile(link.href, signal, (bytes) => {
    items = count(bytes);
    line.show(items);
  });
  try {
    const file = await fetched.finally(letPageGo);
    signal.throwIfAborted(); // it may be whole by then
    saveFile(file);
    line.end(`${counted(items, 'item')} saved as ${file.name}`);
  } catch (error) {
    if (error instanceof SignInNeeded) goToSignIn();
    else if (signal.aborted) line.end(`${label}: stopped; nothing was saved.`);
    else if (error instanceof Refused) line.fail(`The ${label} export could not begin. ${error.message}`);
    else line.fail(`${label}: broke off${toPlace(items)}; nothing was saved.`);
  }
}

/**
 * A page that was too busy to read before the failure came has not seen what the browser threw away with it.
 * @param {number} items
 */
function toPlace(items) {
  return items === 0 ? '' : ` after ${counted(items, 'item')}`;
}

function keepPage() {
  underWay += 1;
  if (underWay === 1) addEventListener('beforeunload', ask);
}

function letPageGo() {
  underWay -= 1;
  if (underWay === 0) removeEventListener('beforeunload', ask);
}

/**
 * The browser asks whether to leave, in its own words.
 * @param {BeforeUnloadEvent} event
 */
function ask(event) {
  event.preventDefault();
}
