import { fromDist } from '../support/compiled.mjs';

const { sessionLogId } = /** @type {typeof import('../../src/session/events.ts')} */ (
  await fromDist('session/events.js')
);

/**
 * The pseudonym of the session behind a `Cookie` header.
 * @param {string} cookie
 */
export function sessionOf(cookie) {
  const [, id] = /(?:^|; )cloakroom=s(?::|%3A)([^.]+)\./.exec(cookie) ?? [];
  if (id === undefined) throw new Error('Whoever signed in got no session cookie.');
  return sessionLogId(id);
}
