/** The fields that a log line may have. docs/monitoring.md describes them. */
export const MEMBERS = new Set(
  `level time msg err requestId traceId session
  client method path route status ms sessionMs tokenMs serviceMs bytes bytesIn token cutOff
  code cause leftOut reason warning attemptBefore attemptStartedAt key node
  url publicUrl version revision signal withinSeconds inTime changed problems`
    .trim()
    .split(/\s+/),
);
/** The field in which the local service logs the fault that a developer has set. */
const OF_SERVICE = 'fault';
const QUERY = /\?[^\s?=&]*=/;
const OF_ERRORS = new Set(['type', 'message', 'code', 'stack', 'cause']);

/**
 * Returns the fields in a log line that are unknown or contain a query. Returns an empty array for a line that is not JSON.
 * @param {string} line
 */
export function unknownMembers(line) {
  if (!line.startsWith('{"level":')) return [];
  /** @type {Record<string, unknown>} */
  let members;
  try {
    members = /** @type {Record<string, unknown>} */ (JSON.parse(line));
  } catch {
    return ['(the line is cut off)'];
  }
  const unknown = Object.keys(members).filter((name) => !MEMBERS.has(name) && name !== OF_SERVICE);
  // A short secret in a query looks like an ordinary word. Fields must therefore not contain queries at all.
  for (const [name, value] of Object.entries(members))
    if (typeof value === 'string' && QUERY.test(value)) unknown.push(`${name} with a query`);
  for (let { err } = members; typeof err === 'object' && err !== null; err = causeOf(err)) {
    unknown.push(...Object.keys(err).filter((name) => !OF_ERRORS.has(name)));
    if (QUERY.test(messageOf(err))) unknown.push('an error message with a query');
  }
  return unknown;
}

/** @param {{ message?: unknown }} error */
function messageOf({ message }) {
  return String(message);
}

/** @param {{ cause?: unknown }} error */
function causeOf({ cause }) {
  return cause;
}
