/**
 * Returns the problems of a scan in wapiti's output: too few addresses, or a module that did not run. wapiti exits with 0 even then.
 * @param {string} text
 * @param {readonly string[]} modules that must have started, each once
 * @param {number} fewest the least number of addresses to find
 * @returns {{ bounds: string[], findings: string[] }} `bounds`: the steps that reached their time limit, which are no findings
 */
export function judgeLog(text, modules, fewest) {
  const found = Number(/found (\d+) URLs and forms/.exec(text)?.[1] ?? 0);
  const started = new Set(namesIn(text, /Launching module (\w+)/g));
  const missing = modules.filter((name) => !started.has(name));
  const [, skipped] = /(\d+) requests were skipped due to network issues/.exec(text) ?? [];
  const unfinished = namesIn(text, /Max attack time was reached for module (\w+)/g);
  return {
    bounds: [
      ...(text.includes('Max scan time was reached') ? ['finding addresses'] : []),
      ...new Set(unfinished),
    ],
    findings: [
      ...(found < fewest ? [`it found ${found} addresses; at least ${fewest} exist`] : []),
      ...(missing.length > 0 ? [`it did not start ${missing.join(', ')}`] : []),
      ...(skipped === undefined ? [] : [`${skipped} of its requests had no response`]),
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
