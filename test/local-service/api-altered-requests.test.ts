import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import {
  BYTE,
  HEADER_BYTE,
  TARGET_BYTE,
  altered,
  credentialsIn,
  forAll,
} from '../support/local-service/altered.ts';
import {
  authorizationUrl,
  openBrowser,
  signInAndAllow,
  type CookieBrowser,
} from '../support/local-service/cookie-browser.ts';
import { expectApiError, expectStatus, expectTokenError } from '../support/local-service/expectations.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import {
  CALLBACK,
  FORM,
  NO_CREDENTIALS,
  PKCE,
  VERIFIER,
  codeFields,
  idsOf,
  postRaw,
  refreshFields,
  requestRaw,
  type Fields,
  type ListPage,
  type RawResponse,
} from '../support/local-service/requests.ts';
import { fc } from '../support/properties.ts';

// These tests alter one part of a token request or an API request, or replace that part with arbitrary bytes.

const INVALID_REQUEST = ['invalid_request'];
const MAX_BODY = 16_384;

const { fixture, service: strict } = useLocalService({ redirectUris: [CALLBACK, `${CALLBACK}/other`] });
const compat = useFixture(async () => fixture.start({ compat: true }));
/** A signed-in browser, which needs only two requests to get another code. */
let browser: CookieBrowser;
/** The fields of a valid refresh request, which can be sent repeatedly. */
let fields: Record<string, string>;
let accessToken: string;
/** The ids of all workspaces. The first workspace has several pages of rooms and murals. */
let ids: string[];
beforeAll(async () => {
  browser = openBrowser(strict);
  await signInAndAllow(browser);
  const tokens = await strict.newTokens();
  fields = refreshFields(tokens.refresh_token);
  accessToken = tokens.access_token;
  ids = idsOf(await strict.readPages('/workspaces', accessToken));
});

const toBytes = (text: string) => Buffer.from(text, 'latin1');
const toForm = (form: Record<string, string>) => new URLSearchParams(form).toString();

/** Returns whether a parsed body has every field of the valid refresh request. */
const hasFields = (valueOf: (name: string) => unknown) =>
  Object.entries(fields).every(([name, value]) => valueOf(name) === value);

/** Expects status 200 if the request is still valid, and a token error otherwise. */
function expectTokensIf(isValid: boolean, response: RawResponse, errors?: readonly string[]): void {
  if (isValid) expectStatus(response, 200);
  else expectTokenError(response, errors);
}

/** Generates any name that is not in `fields`. */
const otherName = () =>
  fc
    .oneof(
      fc.constantFrom('__proto__', 'constructor', 'toString', 'toJSON', 'length', 'scope'),
      fc.string({ unit: 'binary' }),
    )
    .filter((text) => !Object.hasOwn(fields, text));

describe('the token endpoint', () => {
  const BOTH: [string, string[]][] = [
    ['client_id', ['invalid_client']],
    ['client_secret', ['invalid_client']],
    ['grant_type', ['invalid_request', 'unsupported_grant_type']],
  ];
  const GRANT = ['invalid_request', 'invalid_grant']; // an empty field is treated as missing

  async function newExchange(): Promise<Record<string, string>> {
    const code = (await signInAndAllow(browser, authorizationUrl(PKCE))).get('code') ?? '';
    return codeFields(code, { code_verifier: VERIFIER });
  }

  async function expectEachRefused(valid: Fields, name: string, errors: readonly string[]): Promise<void> {
    await forAll(30, altered(valid[name] ?? ''), async (text) => {
      expectTokenError(await strict.postToken({ ...valid, [name]: text }), errors);
    });
    expect((await strict.postToken(valid)).status).toBe(200);
  }

  test.each([...BOTH, ['redirect_uri', GRANT], ['code', GRANT], ['code_verifier', GRANT]] as typeof BOTH)(
    'an exchange with an altered %s is refused and does not consume the code',
    async (name, errors) => expectEachRefused(await newExchange(), name, errors),
  );

  test.each([...BOTH, ['refresh_token', GRANT]] as typeof BOTH)(
    'a refresh with an altered %s is refused, but the refresh token stays valid',
    async (name, errors) => expectEachRefused(fields, name, errors),
  );

  test('a secret is not accepted in place of another kind of secret', async () => {
    const exchange = await newExchange();
    const cookie = (await browser.jar.serialize()).cookies[0]?.value ?? '';
    for (const code of [accessToken, fields['refresh_token'] ?? '', cookie, VERIFIER]) {
      expectTokenError(await strict.postToken({ ...exchange, code }), ['invalid_grant']);
    }
    for (const secret of [accessToken, exchange['code'] ?? '', cookie, VERIFIER]) {
      expectTokenError(await strict.refresh(secret), ['invalid_grant']);
    }
  });
});

describe('a form at the token endpoint', () => {
  let count = 0;
  /** Posts a form. Every third form goes to the service in compatibility mode, which must handle forms identically. */
  const post = (body: Uint8Array, type = FORM, ...headers: string[]): Promise<RawResponse> => {
    count += 1;
    return postRaw(count % 3 === 0 ? compat : strict, TOKEN_PATH, body, type, ...headers);
  };
  const valid = () => toBytes(toForm(fields));

  test('a form with one alteration is refused unless its meaning is unchanged', async () => {
    await forAll(150, altered(toForm(fields), BYTE), async (body) => {
      // URLSearchParams would drop a leading `?`, which is part of the first name in a form.
      const parsed = new URLSearchParams(`&${toBytes(body).toString()}`);
      const isOnce = new Set(parsed.keys()).size === parsed.size;
      expectTokensIf(isOnce && hasFields((name) => parsed.get(name)), await post(toBytes(body)));
    });
  });

  test('a form of arbitrary bytes or fragments is refused', async () => {
    const piece = fc.constantFrom(
      ...['%', '%0', '%00', '%zz', '%c3%28', '%ff', '%ed%a0%80'],
      ...['&', '=', ';', '+', '[]', '[a]', '\0', '\xff', '.'],
      ...['client_id', 'client_secret', 'grant_type', 'refresh_token'],
      ...['__proto__', 'constructor', 'prototype'],
    );
    const pieces = fc.array(piece, { maxLength: 40 }).map((parts) => parts.join(''));
    await forAll(150, fc.oneof(pieces, fc.string({ unit: BYTE, maxLength: 500 })), async (body) => {
      expectTokenError(await post(toBytes(body)), ['invalid_request', 'invalid_client']);
    });
  });

  test('a form can contain any unknown field, but only once', async () => {
    await forAll(50, fc.tuple(otherName(), fc.string({ unit: 'binary' })), async (pair) => {
      const field = new URLSearchParams([pair]).toString();
      expect((await post(toBytes(`${field}&${toForm(fields)}`))).status).toBe(200);
      expectTokenError(await post(toBytes(`${field}&${toForm(fields)}&${field}`)), INVALID_REQUEST);
    });
  });

  test('a form can be up to 16 KiB long', async () => {
    const size = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.integer({ min: -9_000, max: 400_000 }));
    await forAll(20, size, async (beyond) => {
      const body = toBytes(`${toForm(fields)}&x=`.padEnd(MAX_BODY + beyond, 'x'));
      for (const [sent, ...headers] of [[body], [gzipSync(body), 'content-encoding: gzip']] as const) {
        expectTokensIf(beyond <= 0, await post(sent, FORM, ...headers), INVALID_REQUEST);
      }
    });
  });

  test('a form with an altered media type is refused', async () => {
    const isForm = (type: string) => type.split(';', 1)[0]?.trim().toLowerCase() === FORM;
    const type = altered(FORM, HEADER_BYTE).filter((text) => !isForm(text));
    await forAll(100, type, async (text) => {
      expectTokenError(await post(valid(), text), INVALID_REQUEST);
    });
  });

  test('a form in an unknown or unsupported charset is refused', async () => {
    const names = ['utf-16', 'utf-16le', 'utf-32', 'base64', 'hex', 'constructor', '__proto__', 'utf-8888'];
    const unknown = fc.string({ unit: HEADER_BYTE, maxLength: 20 });
    const charset = fc.oneof(
      fc.constantFrom(...names, 'x'),
      unknown.map((text) => `x-${text.replaceAll(/[";\\ \t]/g, '')}`),
    );
    await forAll(50, charset, async (name) => {
      expectTokenError(await post(valid(), `${FORM}; charset=${name}`));
    });
  });

  test('a form that does not match its content-encoding is refused', async () => {
    const pack = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
    const encoding = fc.constantFrom(...(Object.keys(pack) as (keyof typeof pack)[]));
    const cut = fc.tuple(encoding, fc.nat(1_000)).map(([name, end]) => {
      const packed = pack[name](valid());
      return { name, body: packed.subarray(0, end % packed.length) };
    });
    const random = fc.record({
      name: fc.oneof(encoding, fc.constantFrom('', 'x-gzip', 'gzip, gzip', 'GZIP', 'constructor', '*')),
      body: fc.uint8Array({ minLength: 1, maxLength: 300 }),
    });
    await forAll(100, fc.oneof(cut, random), async ({ name, body }) => {
      expectTokenError(await post(body, FORM, `content-encoding: ${name}`));
    });
  });
});

describe('a JSON body in compatibility mode', () => {
  const post = (body: string): Promise<RawResponse> =>
    postRaw(compat, TOKEN_PATH, Buffer.from(body), 'application/json');

  function isValid(body: Buffer): boolean {
    try {
      const parsed = JSON.parse(body.toString()) as Record<string, unknown> | null;
      return hasFields((name) => parsed?.[name]);
    } catch {
      return false;
    }
  }

  test('a JSON body with one alteration is refused unless its meaning is unchanged', async () => {
    await forAll(150, altered(JSON.stringify(fields), BYTE), async (text) => {
      const body = toBytes(text);
      expectTokensIf(isValid(body), await postRaw(compat, TOKEN_PATH, body, 'application/json'));
    });
  });

  test('a JSON body with a changed value in one field is refused', async () => {
    const change = fc
      .tuple(fc.constantFrom(...Object.keys(fields)), fc.oneof(fc.jsonValue(), fc.constant([[{}]])))
      .filter(([name, value]) => value !== fields[name]);
    await forAll(100, change, async ([name, value]) => {
      // null is treated as a missing field.
      const errors = typeof value === 'string' || value === null ? undefined : INVALID_REQUEST;
      expectTokenError(await post(JSON.stringify({ ...fields, [name]: value })), errors);
    });
  });

  test('a JSON body can contain any unknown member', async () => {
    await forAll(50, fc.tuple(otherName(), fc.json()), async ([name, json]) => {
      const whole = `{${JSON.stringify(name)}:${json},${JSON.stringify(fields).slice(1)}`;
      expect((await post(whole)).status).toBe(200);
    });
  });

  test('a JSON body of up to 20,000 nested arrays or objects is refused', async () => {
    const opening = fc.constantFrom('[', '{"a":', '{"client_id":', '{"__proto__":');
    await forAll(30, fc.tuple(opening, fc.nat(20_000), fc.boolean()), async ([open, depth, isClosed]) => {
      const close = (open === '[' ? ']' : '}').repeat(depth);
      expectTokenError(await post(open.repeat(depth) + (isClosed ? `1${close}` : '')));
    });
  });

  test('the last value of a repeated field in a JSON body is used', async () => {
    const name = fc.constantFrom(...Object.keys(fields));
    await forAll(40, fc.tuple(name, altered('another')), async ([field, text]) => {
      const member = JSON.stringify({ [field]: text }).slice(1, -1);
      const members = JSON.stringify(fields).slice(1, -1);
      expect((await post(`{${member},${members}}`)).status).toBe(200);
      expectTokenError(await post(`{${members},${member}}`));
    });
  });
});

describe('an HTTP Basic header in compatibility mode', () => {
  const APP = `${CLIENT_ID}:${CLIENT_SECRET}`;
  const toBasic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  const percentDecode = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  async function expectRefused(header: string): Promise<void> {
    const body = toBytes(toForm(refreshFields(fields['refresh_token'] ?? '', NO_CREDENTIALS)));
    const response = await postRaw(compat, TOKEN_PATH, body, FORM, `authorization: ${header}`);
    expectTokenError(response, ['invalid_client']);
    expect(response.get('www-authenticate')).toMatch(/^Basic /);
  }

  test('an altered HTTP Basic header is refused', async () => {
    const isValid = (header: string) =>
      Buffer.from(credentialsIn(header, 'Basic') ?? '', 'base64').toString() === APP;
    const wrong = altered(toBasic(APP), HEADER_BYTE).filter((text) => !isValid(text));
    await forAll(100, wrong, expectRefused);
  });

  test('an HTTP Basic header with an altered id or secret is refused, even with invalid percent-encoding', async () => {
    const escape = fc.constantFrom('%', '%z', '%4', '%c3', '%ff', '%00', '%3a', '+');
    const text = fc.oneof(altered(APP), altered(APP, escape)).filter((other) => percentDecode(other) !== APP);
    await forAll(100, text, async (other) => expectRefused(toBasic(other)));
  });
});

const API = '/api/public/v1';
const LISTS = ['/workspaces', '/workspaces/ID/rooms', '/workspaces/ID/murals'];

const getRaw = (target: string, authorization = `Bearer ${accessToken}`) =>
  requestRaw(strict, `GET ${API}${target.replace('ID', ids[0] ?? '')}`, [`authorization: ${authorization}`]);

test('an altered access token or Authorization header is refused', async () => {
  const header = fc
    .oneof(
      altered(accessToken, HEADER_BYTE).map((text) => `Bearer ${text}`),
      altered(`Bearer ${accessToken}`, HEADER_BYTE),
    )
    .filter((text) => credentialsIn(text, 'Bearer') !== accessToken);
  const path = fc.constantFrom(...LISTS, '/workspaces/ID');
  await forAll(300, fc.tuple(path, header), async ([target, authorization]) => {
    const response = await getRaw(target, authorization);
    const hasToken = credentialsIn(authorization, 'Bearer') !== undefined;
    expectApiError(response, 401, hasToken ? 'TOKEN_INVALID' : 'UNAUTHORIZED');
    expect(response.get('www-authenticate')).toBe(hasToken ? 'Bearer error="invalid_token"' : 'Bearer');
  });
});

describe('the query of a list request', () => {
  const path = '/workspaces/ID/rooms';
  const LIMITS = new Set(Array.from({ length: 100 }, (_, index) => String(index + 1)));
  const get = (query: Record<string, string>) =>
    strict.getApi(`${path.replace('ID', ids[0] ?? '')}?${toForm(query)}`, accessToken);

  /** The cursor for the second page. */
  let next: string;
  beforeAll(async () => {
    next = ((await get({ limit: '10' })).body as ListPage).next ?? '';
  });

  test('a list refuses any cursor that was not issued', async () => {
    await forAll(100, altered(next), async (text) => {
      expectApiError(await get({ limit: '10', next: text }), 400, 'PAGINATION_INVALID');
    });
  });

  test('a list refuses any limit that is not an integer from 1 to 100', async () => {
    const wrong = altered('10').filter((text) => !LIMITS.has(text));
    await forAll(50, wrong, async (limit) => {
      expectApiError(await get({ limit }), 400, 'LIMIT_INVALID');
    });
  });

  test('a list refuses a query with one alteration unless the query is still valid', async () => {
    await forAll(100, altered(toForm({ limit: '10', next }), TARGET_BYTE), async (query) => {
      const parsed = new URLSearchParams(`?${query}`); // URLSearchParams drops only this question mark
      const [limits, tokens] = [parsed.getAll('limit'), parsed.getAll('next')];
      const response = await getRaw(`${path}?${query}`);
      if (limits.length > 1 || !limits.every((limit) => LIMITS.has(limit)))
        expectApiError(response, 400, 'LIMIT_INVALID');
      else if (tokens.length > 0 && (limits[0] !== '10' || tokens.join() !== next)) {
        expectApiError(response, 400, 'PAGINATION_INVALID');
      } else expectStatus(response, 200);
    });
  });
});

describe('a path', () => {
  /** Classifies an API path. Only the id of a workspace may be percent-encoded. */
  function kindOf(path: string): 'route' | 'unknown workspace' | 'unreadable' | 'nothing' {
    if (/^\/workspaces$|^\/authorization\/oauth2\/(?:token)?$/.test(path)) return 'route';
    const encoded = /^\/workspaces\/(?<id>[^/]+)(?:\/rooms|\/murals)?$/.exec(path)?.groups?.['id'];
    if (encoded === undefined) return 'nothing';
    try {
      return ids.includes(decodeURIComponent(encoded)) ? 'route' : 'unknown workspace';
    } catch {
      return 'unreadable';
    }
  }

  const pathOf = (target: string) => target.split('?', 1)[0] ?? '';

  async function expectNothingAt(target: string): Promise<void> {
    const response = await getRaw(target);
    const kind = kindOf(pathOf(target));
    if (kind === 'unreadable') expectApiError(response, 400, 'REQUEST_INVALID');
    else expectApiError(response, 404, kind === 'nothing' ? 'PATH_NOT_FOUND' : 'WORKSPACE_NOT_FOUND');
  }

  test.each([...LISTS, '/workspaces/ID', '/authorization/oauth2/', '/authorization/oauth2/token'])(
    'a path that differs from %s in one place does not exist in the API',
    async (path) => {
      const valid = path.replace('ID', ids[0] ?? '');
      const target = altered(valid, TARGET_BYTE).filter((text) => kindOf(pathOf(text)) !== 'route');
      await forAll(30, target, expectNothingAt, [`${valid}/`, `/${valid}`, `${valid}%2f`, `${valid}/.`]);
    },
  );

  test('a path that a proxy might normalise or decode does not exist in the API', async () => {
    const piece = fc.constantFrom(
      ...['/', '//', '.', '..', '%2e', '%2E%2e', '%2f', '%5c', '\\', ';', '%3b', '%25', '%252f', '%00'],
      ...['%0d%0a', '%', '%zz', '%ff', '%c0%ae', '%f0%9f%98%80'],
      ...['workspaces', 'rooms', 'Workspaces', '~', '*', ':id'],
    );
    const path = fc
      .array(piece, { maxLength: 12 })
      .map((pieces) => pieces.join(''))
      .filter((text) => kindOf(text) !== 'route');
    await forAll(150, path, expectNothingAt);
  });

  test('a path with a fragment is refused, because a request target has no fragment', async () => {
    expectApiError(await getRaw('/workspaces#fragment'), 400, 'REQUEST_INVALID');
  });
});
