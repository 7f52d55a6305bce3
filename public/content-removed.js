/** A page that is put away tells whatever asks for something in the name of its reader: that is to end, too. */

const controller = new AbortController();

/** Is aborted once what the page showed has been put away, for good. Whoever begins a request for its reader heeds it. */
export const putAwaySignal = controller.signal;

/** Says that it has been. */
export function announcePutAway() {
  controller.abort();
}
