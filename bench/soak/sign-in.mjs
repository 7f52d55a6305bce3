import { outcomeOf } from './outcomes.mjs';

/** @typedef {import('./browser.mjs').Browser} Browser */
/** @typedef {import('./browser.mjs').WholeResponse} WholeResponse */

/**
 * Signs a user in through the service's own pages. Resolves to the outcome: `ok`, or that of the first unexpected response.
 * @param {Browser} browser
 * @param {string} url of Cloakroom
 * @param {string} user whose password is the name
 */
export async function signIn(browser, url, user) {
  const start = await browser.send(`${url}/auth/login?return_to=/workspaces`);
  if (start.status !== 302) return outcomeOf(start);
  const page = locationOf(start, url);
  const { origin } = new URL(page);

  const form = await browser.send(page);
  if (form.status !== 200) return ofService(form);
  /**
   * @param {WholeResponse} shown
   * @param {Record<string, string>} fields
   */
  const send = async (shown, fields) => {
    const [, token = ''] = /name="form_token" value="([^"]*)"/.exec(shown.text) ?? [];
    const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ form_token: token, ...fields }).toString();
    return browser.send(page, { method: 'POST', headers, body });
  };
  const entered = await send(form, { step: 'sign-in', username: user, password: user });
  if (entered.status !== 303) return ofService(entered);
  const consent = await browser.send(page);
  if (consent.status !== 200) return ofService(consent);
  const allowed = await send(consent, { step: 'allow' });
  if (allowed.status !== 303) return ofService(allowed);

  const end = await browser.send(locationOf(allowed, page));
  return end.status === 303 && locationOf(end, url) === `${url}/workspaces` ? 'ok' : outcomeOf(end);
}

/**
 * @param {WholeResponse} response
 * @param {string} from
 */
function locationOf({ headers }, from) {
  return new URL(String(headers['location']), from).href;
}

/** @param {WholeResponse} response */
function ofService({ status }) {
  return `${status} of the service`;
}
