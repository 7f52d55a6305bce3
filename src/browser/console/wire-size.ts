/** Measures the encoded length of a response body, which scripts can read only from the browser's resource timing. */

/** Maximum wait for the size, in ms. The browser reports a resource only after its body has ended, and never reports some resources. */
const TIMEOUT_MS = 5_000;

/** Watches for the next request to `url`. */
export function watchWireSize(url: string) {
  const beganAt = performance.now();
  let bytes: number | null = null;
  let report: (bytes: number) => void = () => {};
  const observer = new PerformanceObserver((list) => {
    const entry = list.getEntries().find(({ name, startTime }) => name === url && startTime >= beganAt);
    if (!(entry instanceof PerformanceResourceTiming)) return;
    observer.disconnect();
    bytes = entry.encodedBodySize;
    report(bytes);
  });
  observer.observe({ type: 'resource' });
  const stop = () => {
    observer.disconnect();
    report = () => {};
  };

  return {
    stop,
    /** Calls the listener once the size is known, but not after the timeout. Call this after the response has arrived. */
    whenKnown(listener: (bytes: number) => void) {
      report = listener;
      if (bytes === null) setTimeout(stop, TIMEOUT_MS);
      else listener(bytes);
    },
  };
}
