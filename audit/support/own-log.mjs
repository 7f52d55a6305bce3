/** What a line of a quiet log may say of its level; whatever is none of them is worse, or no line of ours. */
const QUIET = new Set(['trace', 'debug', 'info', 'warn']);

/**
 * What Cloakroom's own log holds against it: lines at level error and above. One without any line can't tell, and says so.
 * @param {string} text the log as it was written, which may end within a line
 * @returns {string[]}
 */
export function errorsIn(text) {
  const lines = text.split('\n').slice(0, -1);
  if (lines.length === 0) return ['nothing was logged at all'];
  return lines.filter((line) => !QUIET.has(levelOf(line)));
}

/**
 * Empty where it is no log line, such as the last words of a process.
 * @param {string} line
 */
function levelOf(line) {
  try {
    return String(/** @type {{ level?: unknown }} */ (JSON.parse(line)).level);
  } catch {
    return '';
  }
}
