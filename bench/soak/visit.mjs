import { Readable } from 'node:stream';
import { BrokenOff, createBrowser, textOf } from './browser.mjs';
import { sessionOf } from './session-of.mjs';
import { outcomeOf, TOO_LARGE_TO_REPEAT } from './outcomes.mjs';
import { signIn } from './sign-in.mjs';

/** @typedef {import('./browser.mjs').WholeResponse} WholeResponse */
/** @typedef {import('./browser.mjs').RequestOptions} RequestOptions */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */

/**
 * The settings that all visits share.
 * @typedef {object} Place
 * @property {string} url Cloakroom's public URL
 * @property {Ledger} ledger
 * @property {ReadonlyMap<string, ReadonlySet<string>>} itemsOf the ids of each user's workspaces
 */

/** The session has ended although the user did not sign out. */
class Lost extends Error {}

/** A response with another outcome than the expected one. */
class Trouble extends Error {}

/**
 * Creates the visit of a user: one session, from sign-in until sign-out or until the user leaves.
 * @param {Place} place
 * @param {string} user
 */
export function createVisit({ url, ledger, itemsOf }, user) {
  const browser = createBrowser();
  /** The grant of all its tokens, known from the first response of the service. @type {string | undefined} */
  let grant;
  let isLost = false;
  /** Its log id. */
  let session = 'nobody';
  const mine = itemsOf.get(user) ?? new Set();
  const others = [...itemsOf].flatMap(([name, ids]) => (name === user ? [] : Array.from(ids)));

  /**
   * Checks that a response belongs to this session, whatever its status.
   * @param {Pick<WholeResponse, 'status' | 'headers'>} response
   * @param {string} text
   * @param {RequestOptions} options
   */
  const judge = ({ status, headers }, text, { body }) => {
    const owner = headers['x-grant'];
    if (owner !== undefined) {
      grant ??= String(owner);
      if (owner !== grant) ledger.noteWrong('a request was sent with the token of another session');
    }
    if (status === 200) return;
    const outcome = outcomeOf({ status, headers, text });
    const isPassedOn = headers['via'] !== undefined;
    const isLogin = status === 303 && String(headers['location']).includes('/auth/login');
    if (isLogin || (status === 401 && !isPassedOn)) throw new Lost(outcome);
    const isTooLarge = status === 401 && body instanceof Readable;
    throw new Trouble(isTooLarge ? TOO_LARGE_TO_REPEAT : outcome);
  };

  const visit = {
    mine,
    get isLost() {
      return isLost;
    },
    /** Whether that went well. */
    async signIn() {
      const outcome = await visit.try('signing in', async () => {
        const end = await signIn(browser, url, user);
        if (end !== 'ok') throw new Trouble(end);
      });
      if (outcome !== 'ok') return false;
      ledger.signIns += 1;
      session = sessionOf(browser.cookieFor(url));
      return true;
    },
    /**
     * Does something and notes what came of it, which it resolves with.
     * @param {string} name
     * @param {() => Promise<unknown>} deed
     */
    async try(name, deed) {
      const began = performance.now();
      let outcome = 'ok';
      try {
        await deed();
      } catch (error) {
        if (error instanceof Lost) {
          if (!isLost) ledger.noteLost(session, `${name}: ${error.message}`);
          isLost = true;
          return 'lost';
        }
        if (!(error instanceof Trouble || error instanceof BrokenOff)) throw error;
        outcome = error.message;
      }
      ledger.note(name, outcome, began);
      return outcome;
    },
    /**
     * A 200 with its whole body.
     * @param {string} path
     * @param {RequestOptions} [options]
     */
    async send(path, options = {}) {
      const headers = { 'sec-fetch-site': 'same-origin', ...options.headers };
      const response = await browser.send(url + path, { ...options, headers });
      judge(response, response.text, options);
      return response;
    },
    /**
     * Resolves to a response with its body still to read.
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
      judge({ status, headers: responseHeaders }, status === 200 ? '' : await textOf(body), options);
      return body;
    },
    /** What is on a page or in a list is this user's. @param {string} text */
    expectOwn(text) {
      const theirs = others.find((id) => text.includes(id));
      if (theirs !== undefined) ledger.noteWrong(`${user} was shown ${theirs}`);
    },
    /** All of it, and nothing else. @param {string} text */
    expectAll(text) {
      visit.expectOwn(text);
      const missing = [...mine].find((id) => !text.includes(id));
      if (missing !== undefined) ledger.noteWrong(`${missing} is missing from a whole list`);
    },
    /** @param {string} what */
    expectWhole: (what, /** @type {boolean} */ isWhole) => {
      if (!isWhole) ledger.noteWrong(`${what} is not what was sent`);
    },
    /** Ends the session; whether that is certain. */
    async signOut() {
      const headers = { accept: 'application/json', 'sec-fetch-site': 'same-origin' };
      const outcome = await visit.try('signing out', async () => {
        const response = await browser.send(`${url}/auth/logout`, { method: 'POST', headers });
        if (response.status !== 204) throw new Trouble(outcomeOf(response));
      });
      if (outcome === 'ok') ledger.signOuts += 1;
      return outcome === 'ok';
    },
    /** With the cookie that it had before it was ended. @param {string} cookie */
    async expectEnded(cookie) {
      const response = await createBrowser()
        .send(`${url}/api/public/v1/soak/whose`, { headers: { cookie } })
        .catch(() => undefined);
      if (response?.status === 200) ledger.noteWrong('a session that was ended came back');
    },
    cookie: () => browser.cookieFor(url),
  };
  return visit;
}

/** @typedef {ReturnType<typeof createVisit>} Visit */
