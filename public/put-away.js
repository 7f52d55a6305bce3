/** What a page showed is put away, for good: whatever goes on in the name of its reader ends with it. */

const ending = new AbortController();

/** Is aborted once that has happened. */
export const putAwaySignal = ending.signal;

/** Says that it has. */
export function endWithPage() {
  ending.abort();
}
