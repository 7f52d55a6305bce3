import { Cookie, CookieJar } from 'tough-cookie';
import { CLIENT } from './openid-client.mjs';

const MAX_STEPS = 20;

/**
 * Signs in a user by following redirects and submitting the provider's forms. Resolves to the `Cookie` header for the app.
 * @param {number} port the app's port; the app's public origin is CLIENT.origin
 * @param {string} user
 */
export async function signInByForms(port, user) {
  const jar = new CookieJar();
  /** @type {(url: string, form?: URLSearchParams) => Promise<Response>} */
  const visit = async (url, form) => {
    const target = url.replace(CLIENT.origin, `http://127.0.0.1:${port}`);
    const cookie = await jar.getCookieString(url);
    const sent = form === undefined ? {} : { method: 'POST', body: form };
    const response = await fetch(target, { ...sent, redirect: 'manual', headers: { cookie } });
    for (const set of response.headers.getSetCookie()) {
      const parsed = Cookie.parse(set);
      if (parsed !== undefined) await jar.setCookie(parsed, url);
    }
    return response;
  };

  let url = `${CLIENT.origin}/login`;
  let response = await visit(url);
  for (let step = 0; step < MAX_STEPS; step++) {
    const location = response.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      if (url === `${CLIENT.origin}/`) return jar.getCookieString(CLIENT.origin);
      response = await visit(url);
      continue;
    }
    const page = await response.text();
    const [, action, prompt] = /action="([^"]+)"[^]*name="prompt" value="(\w+)"/.exec(page) ?? [];
    if (action === undefined) throw new Error(`${url} responded ${response.status}: ${page.slice(0, 2_000)}`);
    url = new URL(action, url).href;
    response = await visit(url, new URLSearchParams({ prompt: prompt ?? '', login: user, password: 'any' }));
  }
  throw new Error(`${user} was not signed in after ${MAX_STEPS} steps.`);
}
