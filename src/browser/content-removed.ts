const controller = new AbortController();

/** Aborts the page’s requests once its content is removed. */
export const contentRemovedSignal = controller.signal;

/** Call this once the page’s content has been removed. */
export function announceContentRemoved() {
  controller.abort();
}
