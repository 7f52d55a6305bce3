/**
 * Detects a scan that found too few addresses or did not run some modules. wapiti exits with code 0 even after such a scan.
 * @param {string} text
 * @param {readonly string[]} modules the modules that must have started
 * @param {number} minAddresses the minimum number of addresses to find
 * @returns {{ timedOut: string[], findings: string[] }} `timedOut`: steps that reached their time limit, which is not a finding
 */
export function evaluateLog(text, modules, minAddresses) {
  const found = Number(/found (\d+) URLs and forms/.exec(text)?.[1] ?? 0);
  const started = new Set(namesIn(text, /Launching module (\w+)/g));
  const missing = modules.filter((name) => !started.has(name));
  const [, skipped] = /(\d+) requests were skipped due to network issues/.exec(text) ?? [];
  const unfinished = namesIn(text, /Max attack time was reached for module (\w+)/g);
  return {
    timedOut: [
      ...(text.includes('Max scan time was reached') ? ['finding addresses'] : []),
      ...new Set(unfinished),
    ],
    findings: [
      ...(found < minAddresses ? [`found ${found} addresses, fewer than ${minAddresses}`] : []),
      ...(missing.length > 0 ? [`did not start ${missing.join(', ')}`] : []),
      ...(skipped === undefined ? [] : [`${skipped} requests had no response`]),
      ...[...text.matchAll(/^Traceback.*|^\[!\].*/gm)].map(([line]) => line),
    ],
  };
}

/**
 * @param {string} text
 * @param {RegExp} pattern
 */
function namesIn(text, pattern) {
  return [...text.matchAll(pattern)].map(([, name = '']) => name);
}
