const controller = new AbortController();

/** Aborts the page’s requests once its content is removed. */
export const contentRemovedSignal = controller.signal;

export function announceContentRemoved() {
  controller.abort();
}
