import { beforeEach, describe, expect, test } from '@jest/globals';
import { parseCookie } from 'cookie';
import { CLIENT_ID } from '../support/constants.ts';
import {
  BASE64URL,
  BYTE,
  HEADER_BYTE,
  TARGET_BYTE,
  altered,
  forAll,
} from '../support/local-service/altered.ts';
import {
  AUTHORIZATION,
  DEMO,
  authorizationUrl,
  formTokenOf,
  openBrowser,
  signInAndAllow,
  type CookieBrowser,
} from '../support/local-service/cookie-browser.ts';
import { ANY_ERROR_DESCRIPTION, expectPage, expectStatus } from '../support/local-service/expectations.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import {
  CALLBACK,
  CHALLENGE,
  FORM,
  PKCE,
  postRaw,
  requestRaw,
  type RawResponse,
} from '../support/local-service/requests.ts';
import { fc } from '../support/properties.ts';

// These tests alter one part of an authorization request or of a form, or replace that part with arbitrary bytes.

const OTHER_CALLBACK = 'https://app.example/callback?tenant=a%20b';
const SCOPES = ['room:read', 'room:write', 'workspace:read'];
const STATE = 'a state & more';

const { service } = useLocalService({ redirectUris: [CALLBACK, OTHER_CALLBACK] });

describe('an authorization request', () => {
  /** Forms are posted to the URL of their authorization request, whose parameters are checked again. */
  const METHOD = fc.constantFrom('GET', 'POST');
  const send = (method: string, url: string) =>
    requestRaw(service, `${method} ${url}`, ['content-length: 0']);

  const ANY_ERROR = '(?:invalid_request|invalid_scope|unsupported_response_type)';

  /** Checks for a redirect to the app with only an error, its description, and the state if there is one. */
  function expectRedirect(response: RawResponse, error: string, state: string | undefined): void {
    expect(response.status).toBe(303);
    const location = response.get('location') ?? '';
    expect(location.slice(0, CALLBACK.length + 1)).toBe(`${CALLBACK}?`);
    const { searchParams } = new URL(location);
    searchParams.sort();
    expect([...searchParams]).toEqual([
      ['error', expect.stringMatching(new RegExp(`^${error}$`))],
      ['error_description', ANY_ERROR_DESCRIPTION],
      ...(state ? [['state', state]] : []),
    ]);
  }

  const isAllowed = (scope: string | null) => (scope ?? '').split(' ').every((name) => SCOPES.includes(name));
  /** Returns whether the text is a SHA-256 hash in base64url: 43 characters without padding (RFC 7636 §4.2). */
  const isChallenge = (text: string | null) =>
    text?.length === 43 && text.split('').every((character) => BASE64URL.includes(character));

  /** Returns whether these parameters are valid, apart from the client and the redirect URI. */
  function isValid(query: URLSearchParams): boolean {
    const [challenge, method] = [query.get('code_challenge'), query.get('code_challenge_method')];
    const isBound = challenge || method ? isChallenge(challenge) && method === 'S256' : true;
    const isOnce = new Set(query.keys()).size === query.size;
    return isOnce && query.get('response_type') === 'code' && isAllowed(query.get('scope')) && isBound;
  }

  test.each([
    ['client_id', CLIENT_ID],
    ['redirect_uri', CALLBACK],
    ['redirect_uri', OTHER_CALLBACK],
  ])('a request with an altered %s (%s) gets an error page instead of a redirect', async (name, valid) => {
    await forAll(100, fc.tuple(METHOD, altered(valid)), async ([method, text]) => {
      expectPage(await send(method, authorizationUrl({ ...PKCE, [name]: text })), 400);
    });
  });

  const parameters: [string, string, string, (text: string) => boolean][] = [
    ['response_type', 'code', 'unsupported_response_type', () => false],
    ['scope', SCOPES.join(' '), 'invalid_scope', isAllowed],
    ['code_challenge', CHALLENGE, 'invalid_request', isChallenge],
    ['code_challenge_method', 'S256', 'invalid_request', () => false],
  ];
  test.each(parameters)(
    'an authorization request with an altered %s redirects to the app with an error',
    async (name, valid, error, isStillValid) => {
      const wrong = altered(valid).filter((text) => !isStillValid(text));
      await forAll(60, fc.tuple(METHOD, wrong), async ([method, text]) => {
        const response = await send(method, authorizationUrl({ ...PKCE, [name]: text }));
        expectRedirect(response, text === '' ? 'invalid_request' : error, STATE);
      });
    },
  );

  test('an authorization request with an altered query is handled according to its parsed parameters', async () => {
    const whole = authorizationUrl(PKCE).slice(AUTHORIZATION.length + 1);
    await forAll(200, fc.tuple(METHOD, altered(whole, TARGET_BYTE)), async ([method, text]) => {
      const response = await send(method, `${AUTHORIZATION}?${text}`);
      const query = new URLSearchParams(`?${text}`);
      const states = query.getAll('state');
      const [client, redirectUri] = [query.getAll('client_id').join(), query.getAll('redirect_uri').join()];
      if (client !== CLIENT_ID || redirectUri !== CALLBACK) expectPage(response, 400);
      else if (isValid(query)) expectPage(response, method === 'GET' ? 200 : 403);
      else expectRedirect(response, ANY_ERROR, states.length === 1 ? states[0] : undefined);
    });
  });
});

describe('a form', () => {
  const ADDRESS = authorizationUrl();
  const SIGN_IN = { step: 'sign-in', ...DEMO };

  let signedOut: CookieBrowser;
  let signedIn: CookieBrowser;
  beforeEach(async () => {
    [signedOut, signedIn] = [openBrowser(service), openBrowser(service)];
    await signInAndAllow(signedIn);
  });

  /** Fills in the form that the browser received. Returns the form and the browser's cookie. */
  async function fill(browser: CookieBrowser, fields: Record<string, string>) {
    const form = { form_token: formTokenOf(await browser.get(ADDRESS)), ...fields };
    return { form, cookie: (await browser.jar.serialize()).cookies[0]?.value ?? '' };
  }

  const post = (cookie: string, body: string): Promise<RawResponse> =>
    postRaw(service, ADDRESS, Buffer.from(body, 'latin1'), FORM, `cookie: ${cookie}`);

  test.each(['username', 'password'])('a form with an altered %s does not sign the user in', async (name) => {
    const { form } = await fill(signedOut, SIGN_IN);
    // The service trims user names, because on-screen keyboards add spaces.
    const wrong = altered('demo').filter((text) => (name === 'username' ? text.trim() : text) !== 'demo');
    await forAll(60, wrong, async (text) => {
      const page = await signedOut.post(ADDRESS, { ...form, [name]: text });
      expectPage(page, 401);
      expect(page.get('set-cookie')).toBeUndefined();
    });
  });

  test.each(['allow', 'deny', 'switch', 'sign-in'])(
    'a form with an altered form_token is refused at the step "%s"',
    async (step) => {
      const browser = step === 'sign-in' ? signedOut : signedIn;
      const { form } = await fill(browser, { ...SIGN_IN, step });
      await forAll(40, altered(form.form_token), async (text) => {
        const page = await browser.post(ADDRESS, { ...form, form_token: text });
        expectPage(page, 403);
        expect(page.get('set-cookie')).toBeUndefined();
      });
    },
  );

  test('a form with an altered step is refused', async () => {
    const { form } = await fill(signedIn, {});
    await forAll(60, altered('allow'), async (step) => {
      expectPage(await signedIn.post(ADDRESS, { ...form, step }), 400);
    });
  });

  test('a form with an altered cookie is treated like a form from another browser', async () => {
    const { form, cookie } = await fill(signedIn, { step: 'allow' });
    const header = altered(`local_service=${cookie}`, HEADER_BYTE).filter(
      (text) => parseCookie(text)['local_service'] !== cookie,
    );
    await forAll(100, header, async (text) => {
      expectPage(await post(text, new URLSearchParams(form).toString()), 403);
      const page = await requestRaw(service, `GET ${ADDRESS}`, [`cookie: ${text}`]);
      expectPage(page, 200);
      expect(page.text).toContain('type="password"');
    });
  });

  test('a form with an altered body is handled according to its parsed fields', async () => {
    const { form, cookie } = await fill(signedOut, SIGN_IN);
    await forAll(150, altered(new URLSearchParams(form).toString(), BYTE), async (body) => {
      const response = await post(`local_service=${cookie}`, body);
      // URLSearchParams drops one leading question mark. Add one, so that the body keeps its own.
      const fields = new URLSearchParams(`?${Buffer.from(body, 'latin1').toString()}`);
      const isRepeated = new Set(fields.keys()).size < fields.size;
      if (fields.get('form_token') !== form.form_token) expectPage(response, 403);
      else if (fields.get('step') !== 'sign-in' || isRepeated) expectPage(response, 400);
      else if (fields.get('username')?.trim() !== 'demo' || fields.get('password') !== 'demo') {
        expectPage(response, 401);
      } else expectStatus(response, 303);
    });
  });

  test('a form of arbitrary bytes is refused', async () => {
    const { cookie } = await fill(signedIn, {});
    await forAll(75, fc.string({ unit: BYTE, maxLength: 300 }), async (body) => {
      expectPage(await post(`local_service=${cookie}`, body), 403);
    });
  });

  test('a form with an unexpected type, charset, encoding or size is refused with an error page', async () => {
    const { cookie } = await fill(signedIn, {});
    const type = fc.oneof(altered(FORM, HEADER_BYTE), fc.constantFrom(FORM, `${FORM}; charset=x`));
    const encoding = fc.constantFrom('', 'gzip', 'deflate', 'br', 'x');
    const body = fc.oneof(
      fc.uint8Array(),
      fc.nat(60_000).map((size) => new Uint8Array(size)),
    );
    await forAll(75, fc.tuple(type, encoding, body), async ([sentType, sentEncoding, bytes]) => {
      const headers = [`content-encoding: ${sentEncoding}`, `cookie: local_service=${cookie}`];
      const page = await postRaw(service, ADDRESS, bytes, sentType, ...headers);
      expect([400, 403, 413, 415]).toContain(page.status);
      expectPage(page, page.status);
    });
  });
});
