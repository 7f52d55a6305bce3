/** What a line may have, of requests, sessions, Redis and the process itself; docs/operations.md tells of each, under Logs. */
export const MEMBERS = new Set(
  `level time msg err requestId traceId session
  client method path route status ms sessionMs tokenMs serviceMs bytes bytesIn token cutOff
  code reason warning attemptBefore attemptStartedAt key node
  url publicUrl version revision signal withinSeconds inTime changed problems`
    .trim()
    .split(/\s+/),
);
/** The local service, which is no part of a deployment, names a fault that it was told to have. */
const OF_SERVICE = 'fault';
const QUERY = /\?[^\s?=&]*=/;
const OF_ERRORS = new Set(['type', 'message', 'code', 'stack', 'cause']);

/**
 * The members of a log line that are none of those, by their names, or that hold a query; none of a line that is no JSON.
 * @param {string} line
 */
export function strangeMembers(line) {
  if (!line.startsWith('{"level":')) return [];
  /** @type {Record<string, unknown>} */
  let members;
  try {
    members = /** @type {Record<string, unknown>} */ (JSON.parse(line));
  } catch {
    return ['(it is cut off)'];
  }
  const strange = Object.keys(members).filter((name) => !MEMBERS.has(name) && name !== OF_SERVICE);
  // Values of a few characters can't be told from other words; that there is a query can.
  for (const [name, value] of Object.entries(members))
    if (typeof value === 'string' && QUERY.test(value)) strange.push(`${name} with a query`);
  for (let { err } = members; typeof err === 'object' && err !== null; err = causeOf(err)) {
    strange.push(...Object.keys(err).filter((name) => !OF_ERRORS.has(name)));
    if (QUERY.test(messageOf(err))) strange.push('the message of an error with a query');
  }
  return strange;
}

/** @param {{ message?: unknown }} error */
function messageOf({ message }) {
  return String(message);
}

/** @param {{ cause?: unknown }} error */
function causeOf({ cause }) {
  return cause;
}
