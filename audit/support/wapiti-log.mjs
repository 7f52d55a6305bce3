/**
 * What wapiti's own words hold against a scan: that it did not look, or not with all that it was told to. It ends well all the same.
 * @param {string} text
 * @param {readonly string[]} modules it was to begin, each once
 * @param {number} fewest addresses that it must have found
 * @returns {{ bounds: string[], findings: string[] }} `bounds`: what it had too little time for, which is no fault
 */
export function judgeLog(text, modules, fewest) {
  const found = Number(/found (\d+) URLs and forms/.exec(text)?.[1] ?? 0);
  const begun = new Set(namesIn(text, /Launching module (\w+)/g));
  const missing = modules.filter((name) => !begun.has(name));
  const [, skipped] = /(\d+) requests were skipped due to network issues/.exec(text) ?? [];
  const unfinished = namesIn(text, /Max attack time was reached for module (\w+)/g);
  return {
    bounds: [
      ...(text.includes('Max scan time was reached') ? ['looking for addresses'] : []),
      ...new Set(unfinished),
    ],
    findings: [
      ...(found < fewest
        ? [`it found ${found} addresses, and not the ${fewest} that are there at least`]
        : []),
      ...(missing.length > 0 ? [`it did not begin ${missing.join(', ')}`] : []),
      ...(skipped === undefined ? [] : [`${skipped} of its requests had no answer`]),
      ...[...text.matchAll(/^Traceback.*|^\[!\].*/gm)].map(([words]) => words),
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
