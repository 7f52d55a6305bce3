/** How many bytes a body took on the wire: encodings are off before a page sees it, but the browser has counted. */

/**
 * Watches for the next request of an address. The function that it returns hears of the size once it is known, maybe
 * never.
 * @param {string} address
 * @returns {(report: (bytes: number) => void) => void}
 */
export function watchWireSize(address) {
  /** @type {number | null} */
  let bytes = null;
  /** @type {(bytes: number) => void} */
  let tell = () => {};
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.name !== address || !(entry instanceof PerformanceResourceTiming)) continue;
      observer.disconnect();
      bytes = entry.encodedBodySize;
      tell(bytes);
    }
  });
  observer.observe({ type: 'resource' });
  return (report) => {
    tell = report;
    if (bytes !== null) report(bytes);
  };
}
