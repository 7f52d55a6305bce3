import { Agent, request } from 'undici';

/** A timeout longer than any response should take. Hung requests time out and fail. */
const TIMEOUT_MS = 60_000;
const agent = new Agent({
  connections: 400,
  pipelining: 1,
  headersTimeout: TIMEOUT_MS,
  bodyTimeout: TIMEOUT_MS,
});

export const NO_RESPONSE = 'no response';
export const INCOMPLETE_RESPONSE = 'incomplete response';

/** The connection closed before the response was complete. */
export class ConnectionError extends Error {}

/**
 * @typedef {object} CompleteResponse
 * @property {number} status
 * @property {import('undici').Dispatcher.ResponseData['headers']} headers
 * @property {string} text
 */
/**
 * @typedef {object} RequestOptions
 * @property {string} [method]
 * @property {Record<string, string>} [headers]
 * @property {string | Buffer | import('node:stream').Readable} [body]
 * @property {AbortSignal} [signal]
 */

/** Creates a browser that keeps cookies per origin but does not run scripts or follow redirects. */
export function createBrowser() {
  /** @type {Map<string, Map<string, string>>} */
  const jars = new Map();

  /**
   * @param {string} url
   * @param {RequestOptions} [options]
   */
  const open = async (url, { headers = {}, method = 'GET', ...options } = {}) => {
    const { origin } = new URL(url);
    const jar = jars.get(origin) ?? /** @type {Map<string, string>} */ (new Map());
    jars.set(origin, jar);
    const cookie = toHeader(jar);
    const sent = { ...headers, ...(cookie && { cookie }) };
    const response = await request(url, {
      dispatcher: agent,
      method,
      headers: sent,
      ...options,
    }).catch((/** @type {unknown} */ cause) => {
      throw new ConnectionError(NO_RESPONSE, { cause });
    });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) store(jar, line);
    return response;
  };
  return {
    open,
    /** Returns the `Cookie` header for an origin. @param {string} origin */
    cookieFor: (origin) => toHeader(jars.get(origin) ?? new Map()),
    /**
     * Resolves to a response with its complete body.
     * @param {string} url
     * @param {RequestOptions} [options]
     * @returns {Promise<CompleteResponse>}
     */
    async send(url, options) {
      const { statusCode, headers, body } = await open(url, options);
      return { status: statusCode, headers, text: await readText(body) };
    },
  };
}

/** @typedef {ReturnType<typeof createBrowser>} Browser */

/**
 * Resolves to the complete body, or rejects with ConnectionError.
 * @param {import('undici').Dispatcher.ResponseData['body']} body
 */
export async function readText(body) {
  return body.text().catch((/** @type {unknown} */ cause) => {
    throw new ConnectionError(INCOMPLETE_RESPONSE, { cause });
  });
}

/** Closes the connections of all browsers. */
export async function closeBrowsers() {
  await agent.destroy();
}

/** @param {ReadonlyMap<string, string>} jar */
function toHeader(jar) {
  return [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
}

/**
 * @param {Map<string, string>} jar
 * @param {string} line the value of a Set-Cookie header
 */
function store(jar, line) {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (/;\s*(?:max-age=0|expires=Thu, 01 Jan 1970)/i.test(line)) jar.delete(name);
  else jar.set(name, value);
}
