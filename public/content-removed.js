/** A signal that aborts the page’s requests once its content is removed. */

const controller = new AbortController();

/** Aborted once the content is removed. */
export const contentRemovedSignal = controller.signal;

export function announceContentRemoved() {
  controller.abort();
}
