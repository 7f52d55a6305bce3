/** How many bytes a body took on the wire: encodings are off before a page sees it, but the browser has counted. */

/** The browser counts no sooner than the body has ended, and not every request. */
const PATIENCE_MS = 5_000;

/**
 * Watches for the request of an address that is made from now on.
 * @param {string} address
 */
export function watchWireSize(address) {
  const beganAt = performance.now();
  /** @type {number | null} */
  let bytes = null;
  /** @type {(bytes: number) => void} */
  let tell = () => {};
  const observer = new PerformanceObserver((list) => {
    const entry = list.getEntries().find(({ name, startTime }) => name === address && startTime >= beganAt);
    if (!(entry instanceof PerformanceResourceTiming)) return;
    observer.disconnect();
    bytes = entry.encodedBodySize;
    tell(bytes);
  });
  observer.observe({ type: 'resource' });
  const stop = () => {
    observer.disconnect();
    tell = () => {};
  };

  return {
    /** Nothing is reported from now on. */
    stop,
    /**
     * Call it when the answer is there: it is told the size once that is known, if that is soon.
     * @param {(bytes: number) => void} report
     */
    whenKnown(report) {
      tell = report;
      if (bytes === null) setTimeout(stop, PATIENCE_MS);
      else report(bytes);
    },
  };
}
