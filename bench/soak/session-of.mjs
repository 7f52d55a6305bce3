import { fromDist } from '../support/compiled.mjs';

const { sessionLogId } = /** @type {typeof import('../../src/session/events.ts')} */ (
  await fromDist('session/events.js')
);

/**
 * Returns the log id of the session of a `Cookie` header.
 * @param {string} cookie
 */
export function sessionOf(cookie) {
  const [, id] = /(?:^|; )cloakroom=s(?::|%3A)([^.]+)\./.exec(cookie) ?? [];
  if (id === undefined) throw new Error('There is no session cookie after the sign-in.');
  return sessionLogId(id);
}
