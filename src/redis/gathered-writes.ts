/** What is written soon, together with what else comes until then. */
export interface GatheredWrites {
  add(text: string): void;
  /** Forgets what has not been written. */
  drop(): void;
}

/**
 * Gathers what is added in one turn of the event loop for one write. While several come at a time, that of the next
 * turn goes with it: it is one write for twice as many, and what comes of it comes in larger portions, too
 * (docs/decisions/0021). What comes alone leaves at the end of its turn.
 */
export function createGatheredWrites(write: (text: string) => void): GatheredWrites {
  let unsent = '';
  let gathered = 0;
  let wereSeveral = false;

  const send = () => {
    const text = unsent;
    wereSeveral = gathered > 1;
    gathered = 0;
    unsent = '';
    if (text !== '') write(text);
  };

  return {
    add(text) {
      if (gathered === 0 && wereSeveral)
        setImmediate(setImmediate, send); // two turns from now
      else if (gathered === 0) setImmediate(send);
      gathered += 1;
      unsent += text;
    },
    drop() {
      unsent = '';
    },
  };
}
