import type { Server } from 'node:http';
import request, { type Response } from 'supertest';
import { CookieJar } from 'tough-cookie';
import { CLIENT_ID } from '../constants.ts';
import { CALLBACK, originOf, type Fields } from './requests.ts';

export const AUTHORIZATION = '/api/public/v1/authorization/oauth2/';

/** The fields of the sign-in form. */
export const DEMO = { username: 'demo', password: 'demo' };

/** Returns the URL of an authorization request. An override with the value undefined omits the parameter. */
export function authorizationUrl(overrides: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters: Record<string, string | undefined> = {
    client_id: CLIENT_ID,
    redirect_uri: CALLBACK,
    scope: 'room:read room:write workspace:read',
    response_type: 'code',
    state: 'a state & more',
    ...overrides,
  };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
  return `${AUTHORIZATION}?${query.toString()}`;
}

export type CookieBrowser = ReturnType<typeof openBrowser>;

/**
 * Opens a browser that has an empty cookie jar and does not follow redirects. Unlike `../browser.ts`, this browser can send
 * requests that no page offers, such as a step without its form token.
 */
export function openBrowser(server: Server) {
  const jar = new CookieJar();
  const origin = originOf(server);

  const send = async (sent: request.Test, url: string): Promise<Response> => {
    const cookies = await jar.getCookieString(origin + url);
    const res = await (cookies === '' ? sent : sent.set('cookie', cookies));
    for (const cookie of res.get('set-cookie') ?? []) await jar.setCookie(cookie, origin + url);
    return res;
  };
  /** Posts fields or a raw form body. */
  const post = async (url: string, fields: Fields | string) =>
    send(request(server).post(url).type('form').send(fields), url);
  return {
    jar,
    post,
    get: async (url: string) => send(request(server).get(url), url),
    /** Posts the form on a page with its hidden token, as if the user had pressed the button `step`. */
    submit: async (url: string, page: Response, step: string, fields: Fields = {}) =>
      post(url, { form_token: formTokenOf(page), step, ...fields }),
  };
}

/** Returns the hidden token in the form on a page. */
export function formTokenOf(page: Response): string {
  const token = /name="form_token" value="(?<token>[^"]+)"/.exec(page.text)?.groups?.['token'];
  if (token === undefined) throw new Error(`No form on this page (${page.status}).`);
  return token;
}

/** Signs in if necessary, and grants the app access. Resolves with the parameters of the callback. */
export async function signInAndAllow(
  browser: CookieBrowser,
  url = authorizationUrl(),
  user = 'demo',
): Promise<URLSearchParams> {
  let page = await browser.get(url);
  if (page.text.includes('type="password"')) {
    await browser.submit(url, page, 'sign-in', { username: user, password: user });
    page = await browser.get(url);
  }
  const res = await browser.submit(url, page, 'allow');
  return new URL(locationOf(res)).searchParams;
}

/** Copies the cookies into another browser, which may use another server. */
export async function copyCookies(from: CookieJar, to: CookieBrowser): Promise<CookieBrowser> {
  const { cookies } = await from.serialize();
  for (const { key, value } of cookies) {
    await to.jar.setCookie(`${key}=${value}; Path=${AUTHORIZATION}`, 'http://127.0.0.1');
  }
  return to;
}

/** Returns the redirect target of a response. */
export function locationOf(res: Response): string {
  const location = res.get('location');
  if (location === undefined) throw new Error(`No redirect (${res.status}): ${res.text}`);
  return location;
}
