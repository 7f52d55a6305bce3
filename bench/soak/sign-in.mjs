import { outcomeOf } from './outcomes.mjs';

/** @typedef {import('./browser.mjs').Browser} Browser */
/** @typedef {import('./browser.mjs').CompleteResponse} CompleteResponse */

/**
 * Signs in a user through the service's pages. Resolves to `ok`, or to the outcome of the first unexpected response.
 * @param {Browser} browser
 * @param {string} url Cloakroom's public URL
 * @param {string} user the user name, which is also the password
 */
export async function signIn(browser, url, user) {
  const start = await browser.send(`${url}/auth/login?return_to=/workspaces`);
  if (start.status !== 302) return outcomeOf(start);
  const formUrl = locationOf(start, url);
  const { origin } = new URL(formUrl);

  const form = await browser.send(formUrl);
  if (form.status !== 200) return serviceOutcome(form);
  /**
   * @param {CompleteResponse} page with a form
   * @param {Record<string, string>} fields
   */
  const send = async (page, fields) => {
    const [, token = ''] = /name="form_token" value="([^"]*)"/.exec(page.text) ?? [];
    const headers = { origin, 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ form_token: token, ...fields }).toString();
    return browser.send(formUrl, { method: 'POST', headers, body });
  };
  const entered = await send(form, { step: 'sign-in', username: user, password: user });
  if (entered.status !== 303) return serviceOutcome(entered);
  const consent = await browser.send(formUrl);
  if (consent.status !== 200) return serviceOutcome(consent);
  const allowed = await send(consent, { step: 'allow' });
  if (allowed.status !== 303) return serviceOutcome(allowed);

  const end = await browser.send(locationOf(allowed, formUrl));
  return end.status === 303 && locationOf(end, url) === `${url}/workspaces` ? 'ok' : outcomeOf(end);
}

/**
 * @param {CompleteResponse} response
 * @param {string} base
 */
function locationOf({ headers }, base) {
  return new URL(String(headers['location']), base).href;
}

/** @param {CompleteResponse} response */
function serviceOutcome({ status }) {
  return `${status} from the service`;
}
