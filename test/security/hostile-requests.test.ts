import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Browser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { useTestApp } from '../support/fixtures.ts';

/** A marker that appears in every hostile value and nowhere else. */
const MARK = 'hst7q';
const MARKUP = `"><script>${MARK}</script>`;
const INSIDE = '/workspaces/workspace5733149';
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

/** Hostile parameter values, percent-encoded if HTTP requires it. */
const VALUES: Readonly<Record<string, string>> = {
  markup: encodeURIComponent(MARKUP),
  'unencoded markup': MARKUP,
  'an attribute injection': `'%20onmouseover='${MARK}'%20x='`,
  'a script URL': `javascript:${MARK}//`,
  'a URL on another site': `//${MARK}.example/`,
  'a disguised URL on another site': `/%5C${MARK}.example/`,
  'a path to a parent folder': `../../${MARK}`,
  'a header injection': `x%0D%0Aset-cookie:%20${MARK}=1`,
  'control characters': `%00%01%1B${MARK}%7F`,
  'a lone surrogate': `%ED%A0%80${MARK}`,
  'an incomplete encoding': `${MARK}%E0%A4%A`,
  'a stray percent sign': `${MARK}%`,
  'ten thousand characters': MARK.repeat(2_000),
  'a number too large to represent': `1e400${MARK}`,
};
const NAMES = ['limit', 'page', 'find', 'from', 'back', 'next', 'return_to', 'state', 'code', 'error'];
const QUERIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(VALUES).flatMap(([name, value]) =>
      // Only one value of ten thousand characters fits into a request head.
      value.length < 1_000
        ? [[name, NAMES.map((each) => `${each}=${value}`).join('&')]]
        : ['find', 'back', 'return_to'].map((each) => [`${name} in ${each}`, `${each}=${value}`]),
    ),
  ),
  'repeated names': NAMES.map((each) => `${each}=1&${each}=${MARK}`).join('&'),
  lists: NAMES.map((each) => `${each}[]=${MARK}&${each}[1]=2`).join('&'),
  objects: NAMES.map((each) => `${each}[${MARK}]=1&${each}[toString]=1`).join('&'),
  prototypes: `__proto__[${MARK}]=1&constructor[prototype][${MARK}]=1&__proto__=${MARK}&limit[__proto__][${MARK}]=1`,
  'names without values': `${MARK}&${NAMES.join('&')}&=&&=${MARK}`,
  'a query in a query': `?find=${MARKUP}?limit=1`,
};

const PAGES = ['/', '/workspaces', INSIDE, `${INSIDE}/murals`, '/console', '/console/guide', '/nowhere'];
const OTHERS = ['/workspaces.csv', `${INSIDE}/rooms.ndjson`, '/openapi.json', '/assets/nowhere', '/healthz'];
const ROUTES = [...PAGES, ...OTHERS, '/auth/login', '/auth/callback', '/auth/session', '/readyz'];

const testApp = useTestApp();
let cookie: string;
beforeAll(async () => {
  const { browser } = await testApp.signIn();
  cookie = await browser.jar.getCookieString(testApp.origin);
});
beforeEach(() => {
  testApp.logged.length = 0;
});

interface Response {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a GET request for this target, byte for byte. */
async function send(path: string, headers: Readonly<Record<string, string>> = { cookie }): Promise<Response> {
  const sent = request(testApp.origin, { path, headers: { accept: 'text/html', ...headers } }).end();
  const [res] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: res.statusCode ?? 0, headers: res.headers, body: await text(res) };
}

/** Lists the faults in a response: hostile headers or markup, missing security headers, off-site redirects and 5xx statuses. */
function faultsOf({ status, headers, body }: Response): string[] {
  const { location = '', ...others } = headers;
  const isOurs =
    location === '' || /^\/(?![/\\])/.test(location) || location.startsWith(testApp.serviceOrigin);
  return [
    ...(status >= 500 ? [`status ${status}`] : []),
    ...Object.entries(HEADERS)
      .filter(([name, value]) => headers[name] !== value)
      .map(([name]) => `${name}: ${String(headers[name])}`),
    ...(String(headers['content-security-policy']).startsWith("default-src 'none';") ? [] : ['no policy']),
    ...(/^[\da-f-]{36}$/.test(String(headers['x-request-id'])) ? [] : ['no generated request id']),
    ...(isOurs ? [] : [`redirects to ${location}`]),
    ...(JSON.stringify(others).includes(MARK) ? [`in headers: ${JSON.stringify(others)}`] : []),
    ...(/<script>hst7q|["'] *onmouseover=|(?:href|src|action)=["']?(?:javascript:|\/[/\\])/i.test(body)
      ? ['as markup']
      : []),
  ];
}

const marked = () => testApp.logged.filter((line) => line.includes(MARK));

describe.each(ROUTES)('a hostile query to %s', (route) => {
  test.each(Object.entries(QUERIES))(
    'never becomes markup, a header or a log entry: %s',
    async (_name, query) => {
      for (const headers of [{ cookie }, {}])
        expect(faultsOf(await send(`${route}?${query}`, headers))).toEqual([]);
      await eventually(async () => testApp.logged.length > 0); // the log line follows the response
      expect(marked()).toEqual([]);
    },
  );
});

test('the page shows a search term as plain text', async () => {
  const { body } = await send(`/workspaces?find=${encodeURIComponent(MARKUP)}`);
  expect(body).toContain(`value="&quot;&gt;&lt;script&gt;${MARK}&lt;/script&gt;"`);
});

test.each([
  ...Object.values(VALUES).flatMap((value) => [
    `/${value}`,
    `/workspaces/${value}`,
    `/workspaces/${value}/rooms`,
    `${INSIDE}/${value}`,
    `/workspaces/${value}.csv`,
    `/assets/${value}`,
    `/auth/${value}`,
  ]),
  ...['/__proto__', '/workspaces/__proto__/constructor', '/assets/..%2f..%2fpackage.json', '/%2e%2e/%2e%2e/'],
])('responses never contain the path %s as markup', async (path) => {
  for (const headers of [{ cookie }, {}]) {
    const response = await send(path, headers);
    expect(faultsOf(response)).toEqual([]);
    expect(response.status).not.toBe(200);
  }
});

test.each([
  ['x-request-id', MARKUP],
  ['accept', MARKUP],
  ['accept', `text/html;level=${MARK};q=NaN, ${MARK}/*;q=9, */*;q=-1`],
  ['accept', `${MARK}/a,`.repeat(1_000)],
  ['accept-language', MARKUP],
  ['host', `${MARK}.example`],
  ['x-forwarded-host', `${MARK}.example`],
  ['x-forwarded-proto', `javascript:${MARK}`],
  ['forwarded', `host=${MARK}.example`],
  ['origin', `https://${MARK}.example`],
  ['referer', `https://${MARK}.example/${MARKUP}`],
  ['cookie', `cloakroom=${MARK}`],
  ['cookie', `cloakroom="${MARKUP}"; cloakroom=s%3A${MARK}.${MARK}; __proto__=${MARK}; =; ;;`],
  ['range', `bytes=${MARK}-`],
  ['if-none-match', MARKUP],
])('responses and log lines never contain the header %s: %s', async (name, value) => {
  for (const target of ['/', '/workspaces', '/nowhere', '/auth/session', '/assets/cloakroom.css']) {
    const response = await send(target, { cookie, [name]: value });
    expect(faultsOf(response)).toEqual([]);
    expect(response.body).not.toContain(MARK);
  }
  expect(marked()).toEqual([]);
});

test('the response to a malformed Host does not contain its value', async () => {
  const response = await send('/', { cookie, host: `a${MARKUP}` });
  expect(response.status).toBe(400);
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(response.body).not.toContain(MARK);
  expect(marked()).toEqual([]);
});

describe('a hostile authorization response', () => {
  /** Starts a sign-in and opens its callback with this query. */
  async function openCallback(query: string, returnTo = '/workspaces') {
    const browser = new Browser();
    const login = await browser.fetch(
      `${testApp.origin}/auth/login?return_to=${encodeURIComponent(returnTo)}`,
    );
    const state = new URL(login.headers.get('location') ?? '').searchParams.get('state');
    const page = await browser.fetch(`${testApp.origin}/auth/callback?state=${state}&${query}`, {
      headers: { accept: 'text/html' },
    });
    return { status: page.status, headers: Object.fromEntries(page.headers), body: page.text };
  }

  test.each([
    ['error', `error=${encodeURIComponent(MARKUP)}`],
    ['error_description', `error=server_error&error_description=${encodeURIComponent(MARKUP)}`],
    ['error_uri', `error=server_error&error_uri=${encodeURIComponent(`javascript:${MARK}`)}`],
    ['code', `code=${encodeURIComponent(MARKUP)}`],
    ['iss', `code=x&iss=${encodeURIComponent(MARKUP)}`],
  ])('does not get its %s onto the page or into the log', async (_name, query) => {
    const { status, ...response } = await openCallback(query);
    expect(status).toBe(502);
    expect(faultsOf({ status: 0, ...response })).toEqual([]);
    expect(response.body).not.toContain(MARK);
    expect(marked()).toEqual([]);
  });

  test('with access_denied results in a page with an escaped retry link', async () => {
    const response = await openCallback('error=access_denied', `/workspaces?find=${MARKUP}`);
    expect(response.status).toBe(403);
    expect(faultsOf(response)).toEqual([]);
    expect(response.body).toContain(`href="/auth/login?return_to=%2Fworkspaces%3Ffind%3D`);
  });
});
