import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Browser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { useTestApp } from '../support/fixtures.ts';

/** Stands in all that is hostile, and nowhere else. */
const MARK = 'hst7q';
const MARKUP = `"><script>${MARK}</script>`;
const INSIDE = '/workspaces/workspace5733149';
const HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

/** What a parameter could be, percent-encoded where it must be to be sent at all. */
const VALUES: Readonly<Record<string, string>> = {
  markup: encodeURIComponent(MARKUP),
  'markup as it stands': MARKUP,
  'the end of an attribute': `'%20onmouseover='${MARK}'%20x='`,
  'an address that runs': `javascript:${MARK}//`,
  'another site': `//${MARK}.example/`,
  'another site, disguised': `/%5C${MARK}.example/`,
  'a path that leads upwards': `../../${MARK}`,
  'the end of a header': `x%0D%0Aset-cookie:%20${MARK}=1`,
  'characters of control': `%00%01%1B${MARK}%7F`,
  'half a character': `%ED%A0%80${MARK}`,
  'an encoding that ends early': `${MARK}%E0%A4%A`,
  'a stray percent sign': `${MARK}%`,
  'ten thousand characters': MARK.repeat(2_000),
  'a number beyond all': `1e400${MARK}`,
};
const NAMES = ['limit', 'page', 'find', 'from', 'back', 'next', 'return_to', 'state', 'code', 'error'];
const QUERIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(VALUES).flatMap(([name, value]) =>
      // One alone fits ten thousand characters into a head.
      value.length < 1_000
        ? [[name, NAMES.map((each) => `${each}=${value}`).join('&')]]
        : ['find', 'back', 'return_to'].map((each) => [`${name} in ${each}`, `${each}=${value}`]),
    ),
  ),
  'the same again': NAMES.map((each) => `${each}=1&${each}=${MARK}`).join('&'),
  lists: NAMES.map((each) => `${each}[]=${MARK}&${each}[1]=2`).join('&'),
  objects: NAMES.map((each) => `${each}[${MARK}]=1&${each}[toString]=1`).join('&'),
  prototypes: `__proto__[${MARK}]=1&constructor[prototype][${MARK}]=1&__proto__=${MARK}&limit[__proto__][${MARK}]=1`,
  'names alone': `${MARK}&${NAMES.join('&')}&=&&=${MARK}`,
  'a question in a question': `?find=${MARKUP}?limit=1`,
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

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends a target just as it is. */
async function send(target: string, headers: Readonly<Record<string, string>> = { cookie }): Promise<Answer> {
  const sent = request(testApp.origin, { path: target, headers: { accept: 'text/html', ...headers } }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

/** What of it came back where it must not: in a header, as markup, or with a failure of ours. */
function faultsOf({ status, headers, body }: Answer): string[] {
  const { location = '', ...others } = headers;
  const leads =
    location === '' || /^\/(?![/\\])/.test(location) || location.startsWith(testApp.serviceOrigin);
  return [
    ...(status >= 500 ? [`status ${status}`] : []),
    ...Object.entries(HEADERS)
      .filter(([name, value]) => headers[name] !== value)
      .map(([name]) => `${name}: ${String(headers[name])}`),
    ...(String(headers['content-security-policy']).startsWith("default-src 'none';") ? [] : ['no policy']),
    ...(/^[\da-f-]{36}$/.test(String(headers['x-request-id'])) ? [] : ['no request id of ours']),
    ...(leads ? [] : [`leads to ${location}`]),
    ...(JSON.stringify(others).includes(MARK) ? [`in headers: ${JSON.stringify(others)}`] : []),
    ...(/<script>hst7q|["'] *onmouseover=|(?:href|src|action)=["']?(?:javascript:|\/[/\\])/i.test(body)
      ? ['as markup']
      : []),
  ];
}

const marked = () => testApp.logged.filter((line) => line.includes(MARK));

describe.each(ROUTES)('in the query of %s', (route) => {
  test.each(Object.entries(QUERIES))('%s does no harm, and is in no log', async (_name, query) => {
    for (const headers of [{ cookie }, {}]) {
      const answer = await send(`${route}?${query}`, headers);
      expect(faultsOf(answer)).toEqual([]);
    }
    await eventually(async () => testApp.logged.length > 0); // a line is written once all is sent
    expect(marked()).toEqual([]);
  });
});

test('a search term is shown as text', async () => {
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
])('the path %s does no harm', async (path) => {
  for (const headers of [{ cookie }, {}]) {
    const answer = await send(path, headers);
    expect(faultsOf(answer)).toEqual([]);
    expect(answer.status).not.toBe(200);
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
])('the header %s: %s does no harm, and is in no log', async (name, value) => {
  for (const target of ['/', '/workspaces', '/nowhere', '/auth/session', '/assets/cloakroom.css']) {
    const answer = await send(target, { cookie, [name]: value });
    expect(faultsOf(answer)).toEqual([]);
    expect(answer.body).not.toContain(MARK);
  }
  expect(marked()).toEqual([]);
});

test('a Host that is not a name is refused without being repeated', async () => {
  const answer = await send('/', { cookie, host: `a${MARKUP}` });
  expect(answer.status).toBe(400);
  expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(answer.body).not.toContain(MARK);
  expect(marked()).toEqual([]);
});

describe('the service’s response to a sign-in', () => {
  /** Begins to sign in, and comes back with what a service could say. */
  async function comeBack(query: string, returnTo = '/workspaces') {
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
  ])('is shown without its %s, which is in no log', async (_name, query) => {
    const { status, ...answer } = await comeBack(query);
    expect(status).toBe(502);
    expect(faultsOf({ status: 0, ...answer })).toEqual([]);
    expect(answer.body).not.toContain(MARK);
    expect(marked()).toEqual([]);
  });

  test('that the user refused offers the page where the sign-in began, as text', async () => {
    const answer = await comeBack('error=access_denied', `/workspaces?find=${MARKUP}`);
    expect(answer.status).toBe(403);
    expect(faultsOf(answer)).toEqual([]);
    expect(answer.body).toContain(`href="/auth/login?return_to=%2Fworkspaces%3Ffind%3D`);
  });
});
