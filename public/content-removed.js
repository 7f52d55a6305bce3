/** A signal for requests that a page makes for its user: they end once the content of the page is removed. */

const controller = new AbortController();

/** Aborted once the content is removed. */
export const contentRemovedSignal = controller.signal;

export function announceContentRemoved() {
  controller.abort();
}
