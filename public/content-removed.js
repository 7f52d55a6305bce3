/** A signal that aborts the page’s requests once its content is removed. */

const controller = new AbortController();

/** Aborts once the content is removed. */
export const contentRemovedSignal = controller.signal;

export function announceContentRemoved() {
  controller.abort();
}
