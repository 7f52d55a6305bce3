import { fromDist } from '../support/compiled.mjs';

const { sessionLogId } = /** @type {typeof import('../../src/session/events.ts')} */ (
  await fromDist('session/events.js')
);

/**
 * Returns the log id of the session in a `Cookie` header.
 * @param {string} cookie
 */
export function sessionLogIdOf(cookie) {
  const [, id] = /(?:^|; )cloakroom=s(?::|%3A)([^.]+)\./.exec(cookie) ?? [];
  if (id === undefined) throw new Error('Sign-in did not set a session cookie.');
  return sessionLogId(id);
}
