import { Agent, request } from 'undici';

/** Whoever calls waits longer than any answer may take: a call that hangs shows as one. */
const PATIENCE_MS = 60_000;
const agent = new Agent({
  connections: 400,
  pipelining: 1,
  headersTimeout: PATIENCE_MS,
  bodyTimeout: PATIENCE_MS,
});

export const HALF_AN_ANSWER = 'half an answer';

/** No answer, or none that is whole. */
export class BrokenOff extends Error {}

/**
 * @typedef {object} Answer
 * @property {number} status
 * @property {import('undici').Dispatcher.ResponseData['headers']} headers
 * @property {string} text
 */
/**
 * @typedef {object} Asked
 * @property {string} [method]
 * @property {Record<string, string>} [headers]
 * @property {string | Buffer | import('node:stream').Readable} [body]
 * @property {AbortSignal} [signal]
 */

/** A browser without scripts: cookies by origin, redirects followed by hand. */
export function createBrowser() {
  /** @type {Map<string, Map<string, string>>} */
  const jars = new Map();

  /**
   * @param {string} url
   * @param {Asked} [asked]
   */
  const open = async (url, { headers = {}, method = 'GET', ...asked } = {}) => {
    const { origin } = new URL(url);
    const jar = jars.get(origin) ?? /** @type {Map<string, string>} */ (new Map());
    jars.set(origin, jar);
    const cookie = toHeader(jar);
    const sent = { ...headers, ...(cookie && { cookie }) };
    const answer = await request(url, {
      dispatcher: agent,
      method,
      headers: sent,
      ...asked,
    }).catch((/** @type {unknown} */ cause) => {
      throw new BrokenOff('no answer', { cause });
    });
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) keep(jar, line);
    return answer;
  };
  return {
    open,
    /** The `Cookie` header that goes to an origin. @param {string} origin */
    cookieFor: (origin) => toHeader(jars.get(origin) ?? new Map()),
    /**
     * An answer with its whole body.
     * @param {string} url
     * @param {Asked} [asked]
     * @returns {Promise<Answer>}
     */
    async ask(url, asked) {
      const { statusCode, headers, body } = await open(url, asked);
      return { status: statusCode, headers, text: await textOf(body) };
    },
  };
}

/** @typedef {ReturnType<typeof createBrowser>} Browser */

/**
 * The whole of a body; rejects with BrokenOff.
 * @param {import('undici').Dispatcher.ResponseData['body']} body
 */
export async function textOf(body) {
  return body.text().catch((/** @type {unknown} */ cause) => {
    throw new BrokenOff(HALF_AN_ANSWER, { cause });
  });
}

/** Closes the connections that are left open. */
export async function closeBrowsers() {
  await agent.destroy();
}

/** @param {ReadonlyMap<string, string>} jar */
function toHeader(jar) {
  return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
}

/**
 * @param {Map<string, string>} jar
 * @param {string} line of Set-Cookie
 */
function keep(jar, line) {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (/;\s*(?:max-age=0|expires=Thu, 01 Jan 1970)/i.test(line)) jar.delete(name);
  else jar.set(name, value);
}
