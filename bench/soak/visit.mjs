import { Readable } from 'node:stream';
import { BrokenOff, createBrowser, textOf } from './browser.mjs';
import { sessionOf } from './session-of.mjs';
import { outcomeOf, TOO_LARGE_TO_REPEAT } from './outcomes.mjs';
import { signIn } from './sign-in.mjs';

/** @typedef {import('./browser.mjs').Answer} Answer */
/** @typedef {import('./browser.mjs').Asked} Asked */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */

/**
 * What all visits share.
 * @typedef {object} Place
 * @property {string} url Cloakroom's, as browsers see it.
 * @property {Ledger} ledger
 * @property {ReadonlyMap<string, ReadonlySet<string>>} itemsOf The ids of each user's workspaces.
 */

/** The session has gone though nobody ended it: nothing more can be done with it. */
class Lost extends Error {}

/** An answer other than the one that was asked for. */
class Trouble extends Error {}

/**
 * One session of one user: from signing in until it is ended or left alone.
 * @param {Place} place
 * @param {string} user
 */
export function createVisit({ url, ledger, itemsOf }, user) {
  const browser = createBrowser();
  /** The one grant that all its tokens come from; known with the first answer of the service. @type {string | undefined} */
  let grant;
  let isLost = false;
  /** What the logs call it. */
  let session = 'nobody';
  const mine = itemsOf.get(user) ?? new Set();
  const others = [...itemsOf].flatMap(([name, ids]) => (name === user ? [] : Array.from(ids)));

  /**
   * Sees to it that an answer is the session's own, whatever its status.
   * @param {Pick<Answer, 'status' | 'headers'>} answer
   * @param {string} text
   * @param {Asked} asked
   */
  const judge = ({ status, headers }, text, { body }) => {
    const owner = headers['x-grant'];
    if (owner !== undefined) {
      grant ??= String(owner);
      if (owner !== grant) ledger.noteWrong('a call went out with the token of another session');
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
     * @param {Asked} [asked]
     */
    async ask(path, asked = {}) {
      const headers = { 'sec-fetch-site': 'same-origin', ...asked.headers };
      const answer = await browser.ask(url + path, { ...asked, headers });
      judge(answer, answer.text, asked);
      return answer;
    },
    /**
     * An answer whose body is yet to come.
     * @param {string} path
     * @param {Asked} [asked]
     */
    async open(path, asked = {}) {
      const headers = { 'sec-fetch-site': 'same-origin', ...asked.headers };
      const {
        statusCode: status,
        headers: answered,
        body,
      } = await browser.open(url + path, { ...asked, headers });
      judge({ status, headers: answered }, status === 200 ? '' : await textOf(body), asked);
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
        const answer = await browser.ask(`${url}/auth/logout`, { method: 'POST', headers });
        if (answer.status !== 204) throw new Trouble(outcomeOf(answer));
      });
      if (outcome === 'ok') ledger.signOuts += 1;
      return outcome === 'ok';
    },
    /** With the cookie that it had before it was ended. @param {string} cookie */
    async expectEnded(cookie) {
      const answer = await createBrowser()
        .ask(`${url}/api/public/v1/soak/whose`, { headers: { cookie } })
        .catch(() => undefined);
      if (answer?.status === 200) ledger.noteWrong('a session that was ended came back');
    },
    cookie: () => browser.cookieFor(url),
  };
  return visit;
}

/** @typedef {ReturnType<typeof createVisit>} Visit */
