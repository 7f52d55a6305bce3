/** The levels that a line may have. Any other line is an error, or not a log line. */
const QUIET = new Set(['trace', 'debug', 'info', 'warn']);

/**
 * Returns the findings in Cloakroom's own log: lines at level error and above, or an empty log.
 * @param {string} text the log, which may end within a line
 * @returns {string[]}
 */
export function errorsIn(text) {
  const lines = text.split('\n').slice(0, -1);
  if (lines.length === 0) return ['nothing was logged at all'];
  return lines.filter((line) => !QUIET.has(levelOf(line)));
}

/**
 * Returns an empty object for text that is not a log line, such as an uncaught error.
 * @param {string} line
 */
function levelOf(line) {
  try {
    return String(/** @type {{ level?: unknown }} */ (JSON.parse(line)).level);
  } catch {
    return '';
  }
}
