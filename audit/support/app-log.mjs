/** The log levels below error. */
const EXPECTED_LEVELS = new Set(['trace', 'debug', 'info', 'warn']);

/**
 * Returns the findings in the Cloakroom log: lines at level error or fatal, lines that are not JSON, or an empty log.
 * @param {string} text the log; an unfinished last line is ignored
 * @returns {string[]}
 */
export function errorsIn(text) {
  const lines = text.split('\n').slice(0, -1);
  if (lines.length === 0) return ['the log is empty'];
  return lines.filter((line) => !EXPECTED_LEVELS.has(levelOf(line)));
}

/**
 * Returns the level of a log line, or an empty string for other text, such as an uncaught error.
 * @param {string} line
 */
function levelOf(line) {
  try {
    return String(/** @type {{ level?: unknown }} */ (JSON.parse(line)).level);
  } catch {
    return '';
  }
}
