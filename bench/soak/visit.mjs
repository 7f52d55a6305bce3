import { Readable } from 'node:stream';
import { ConnectionError, createBrowser, readText } from './browser.mjs';
import { NOT_RESENT, outcomeOf } from './outcomes.mjs';
import { sessionLogIdOf } from './session-log-id.mjs';
import { signIn } from './sign-in.mjs';

/** @typedef {import('./browser.mjs').CompleteResponse} CompleteResponse */
/** @typedef {import('./browser.mjs').RequestOptions} RequestOptions */
/** @typedef {import('./results.mjs').Results} Results */

/**
 * The settings that all visits share.
 * @typedef {object} VisitSettings
 * @property {string} url Cloakroom's public URL
 * @property {Results} results
 * @property {ReadonlyMap<string, ReadonlySet<string>>} idsByUser the ids of each user's workspaces
 */

/** The session has ended although the user did not sign out. */
class SessionLostError extends Error {}

/** The response was not as expected. The error message is the outcome. */
class UnexpectedResponseError extends Error {}

/**
 * Creates a visit: one session of a user, from sign-in until the user signs out or stops sending requests.
 * @param {VisitSettings} settings
 * @param {string} user
 */
export function createVisit({ url, results, idsByUser }, user) {
  const browser = createBrowser();
  /** The grant to which all the session's tokens belong, read from the service's first response. @type {string | undefined} */
  let grant;
  let isLost = false;
  /** The session's log id. */
  let session = 'none';
  const ownIds = idsByUser.get(user) ?? new Set();
  const otherIds = [...idsByUser].flatMap(([name, ids]) => (name === user ? [] : Array.from(ids)));

  /**
   * Records a response that belongs to another session. Throws if the status is not 200.
   * @param {Pick<CompleteResponse, 'status' | 'headers'>} response
   * @param {string} text
   * @param {RequestOptions} options
   */
  const checkResponse = ({ status, headers }, text, { body }) => {
    const owner = headers['x-grant'];
    if (owner !== undefined) {
      grant ??= String(owner);
      if (owner !== grant)
        results.recordWrongResponse('a request was sent with the token of another session');
    }
    if (status === 200) return;
    const outcome = outcomeOf({ status, headers, text });
    const isForwarded = headers['via'] !== undefined;
    const isLogin = status === 303 && String(headers['location']).includes('/auth/login');
    if (isLogin || (status === 401 && !isForwarded)) throw new SessionLostError(outcome);
    const isNotResent = status === 401 && body instanceof Readable;
    throw new UnexpectedResponseError(isNotResent ? NOT_RESENT : outcome);
  };

  const visit = {
    ownIds,
    get isLost() {
      return isLost;
    },
    /** Signs in the user. Resolves to whether the sign-in succeeded. */
    async signIn() {
      const outcome = await visit.attempt('sign-in', async () => {
        const end = await signIn(browser, url, user);
        if (end !== 'ok') throw new UnexpectedResponseError(end);
      });
      if (outcome !== 'ok') return false;
      results.signIns += 1;
      session = sessionLogIdOf(browser.cookieFor(url));
      return true;
    },
    /**
     * Runs an action and records its outcome. Resolves to the outcome, or to `lost` if the session was lost.
     * @param {string} name
     * @param {() => Promise<unknown>} action
     */
    async attempt(name, action) {
      const startedAt = performance.now();
      let outcome = 'ok';
      try {
        await action();
      } catch (error) {
        if (error instanceof SessionLostError) {
          if (!isLost) results.recordLostSession(session, `${name}: ${error.message}`);
          isLost = true;
          return 'lost';
        }
        if (!(error instanceof UnexpectedResponseError || error instanceof ConnectionError)) throw error;
        outcome = error.message;
      }
      results.record(name, outcome, startedAt);
      return outcome;
    },
    /**
     * Sends a request. Resolves to the complete response; rejects if the status is not 200.
     * @param {string} path
     * @param {RequestOptions} [options]
     */
    async send(path, options = {}) {
      const headers = { 'sec-fetch-site': 'same-origin', ...options.headers };
      const response = await browser.send(url + path, { ...options, headers });
      checkResponse(response, response.text, options);
      return response;
    },
    /**
     * Sends a request. Resolves to the unread body; rejects if the status is not 200.
     * @param {string} path
     * @param {RequestOptions} [options]
     */
    async open(path, options = {}) {
      const headers = { 'sec-fetch-site': 'same-origin', ...options.headers };
      const {
        statusCode: status,
        headers: responseHeaders,
        body,
      } = await browser.open(url + path, { ...options, headers });
      checkResponse(
        { status, headers: responseHeaders },
        status === 200 ? '' : await readText(body),
        options,
      );
      return body;
    },
    /** Expects that a page or list contains no workspaces of other users. @param {string} text */
    expectOwnData(text) {
      const otherId = otherIds.find((id) => text.includes(id));
      if (otherId !== undefined) results.recordWrongResponse(`${user} received ${otherId} of another user`);
    },
    /** Expects that an export contains all workspaces of the user, and none of other users. @param {string} text */
    expectAllData(text) {
      visit.expectOwnData(text);
      const missing = [...ownIds].find((id) => !text.includes(id));
      if (missing !== undefined) results.recordWrongResponse(`${missing} is missing from a complete export`);
    },
    /** @param {string} name the name of the transferred body */
    expectIntact: (name, /** @type {boolean} */ isIntact) => {
      if (!isIntact) results.recordWrongResponse(`${name} was altered`);
    },
    /** Signs out the user. Resolves to true only if the response confirms that the session has ended. */
    async signOut() {
      const headers = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };
      const outcome = await visit.attempt('sign-out', async () => {
        const response = await browser.send(`${url}/auth/logout`, { method: 'POST', headers });
        if (response.status !== 204) throw new UnexpectedResponseError(outcomeOf(response));
      });
      if (outcome === 'ok') results.signOuts += 1;
      return outcome === 'ok';
    },
    /** Expects that a cookie from before the sign-out is no longer valid. @param {string} cookie */
    async expectEnded(cookie) {
      const response = await createBrowser()
        .send(`${url}/api/public/v1/soak/empty`, { headers: { cookie } })
        .catch(() => undefined);
      if (response?.status === 200) results.recordWrongResponse('a session was still valid after sign-out');
    },
    cookie: () => browser.cookieFor(url),
  };
  return visit;
}

/** @typedef {ReturnType<typeof createVisit>} Visit */
