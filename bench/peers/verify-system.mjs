import { request } from 'undici';
import { browserHeaders, PATH } from './browser-request.mjs';

/**
 * Throws unless a system replaces the cookie with the session's token in the upstream request, returns the body unchanged, and refuses
 * requests without a session.
 * @param {import('./systems.mjs').Kind} kind
 * @param {import('./systems.mjs').System} system
 * @param {string} body the service's response body
 */
export async function verifySystem(kind, { port, cookies, accessTokens }, body) {
  /** @type {(path: string, cookie: string) => Promise<{ status: number, text: string }>} */
  const get = async (path, cookie) => {
    const { Cookie: _, ...headers } = browserHeaders(cookie);
    const response = await request(`http://127.0.0.1:${port}${path}`, {
      headers: cookie === '' ? headers : { ...headers, Cookie: cookie },
    });
    return { status: response.statusCode, text: await response.body.text() };
  };
  /** @type {(isTrue: boolean, failure: string) => void} */
  const expect = (isTrue, failure) => {
    if (!isTrue) throw new Error(`(${kind.name}) ${kind.title} does not do the job: ${failure}`);
  };

  for (const [at, cookie] of cookies.entries()) {
    const response = await get(PATH, cookie);
    expect(
      response.status === 200 && response.text === body,
      `session ${at} received ${response.status} or an altered body`,
    );
    const { text: head } = await get('/api/public/v1/seen', cookie);
    const sent = [...head.matchAll(/^authorization: (.*)\r$/gim)].map(([, value]) => value);
    expect(
      sent.length === 1 && sent[0] === `Bearer ${accessTokens[at]}`,
      `the service received the Authorization headers "${sent.join(', ')}"`,
    );
    expect(!/^cookie:/im.test(head), 'the service received the cookie');
  }
  if (kind.withoutSessions) return;
  for (const cookie of ['', `${(cookies[0] ?? '').slice(0, -3)}AAA`]) {
    const { status, text } = await get(PATH, cookie);
    expect(status === 401 && !text.includes('Workspace'), `it responded ${status} to the cookie "${cookie}"`);
  }
}
