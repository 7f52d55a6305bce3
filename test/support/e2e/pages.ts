import type { Page } from 'playwright-core';
import type { TestApp, Interceptor } from '../test-app.ts';
import { hostileItems, HOSTILE_TEXTS, malformedItems, toList } from './hostile-items.ts';

/** A page that users see, or one state of the page. Tests of all pages use the table below, so add each new page to the table. */
export interface View {
  readonly name: string;
  /** The view's path and query. */
  readonly path: string;
  readonly status: number;
  readonly signedIn: boolean;
  /** Environment variables for the test app. Views with the same variables share a test app. */
  readonly env?: Readonly<Record<string, string>>;
  /** Responds in place of the service while the view is shown. */
  readonly service?: Interceptor;
  /** Navigates to the view if opening its path is not enough. */
  readonly navigate?: (page: Page, testApp: TestApp, path: string) => Promise<void>;
  /** If true, `navigate` stops the browser's clock, so other views can't share the browser profile. */
  readonly stopsClock?: boolean;
  /** The expected status of script requests that are meant to fail. */
  readonly failingRequestStatus?: number;
}

const ONE_WORKSPACE = { id: 'w1', name: 'Only one' };
/** The path of the first workspace in the local service. */
const WORKSPACE_PATH = '/workspaces/workspace5733149';

const SIGNED_IN = { status: 200, signedIn: true };

/** The views that the tests of all pages cover. */
export const VIEWS: readonly View[] = [
  { name: 'landing', path: '/', status: 200, signedIn: false },
  { name: 'page not found, signed out', path: '/nowhere', status: 404, signedIn: false },
  { name: 'page not found', path: '/nowhere', status: 404, signedIn: true },
  { name: 'malformed URL', path: '/workspaces/%E0%A4%A', status: 400, signedIn: true },

  { name: 'workspaces', path: '/workspaces', status: 200, signedIn: true },
  { name: 'workspaces, page 2', path: '/workspaces?page=2', status: 200, signedIn: true },
  { name: 'workspaces, past the end', path: '/workspaces?page=50', status: 200, signedIn: true },
  { name: 'workspaces, empty list', path: '/workspaces', ...SIGNED_IN, service: respondsWithList([]) },
  {
    ...SIGNED_IN,
    name: 'workspaces, one item',
    path: '/workspaces',
    service: respondsWithList([ONE_WORKSPACE]),
  },
  { name: 'workspaces, search results', path: '/workspaces?find=design', status: 200, signedIn: true },
  { name: 'workspaces, no search results', path: '/workspaces?find=no+such+words', ...SIGNED_IN },

  { name: 'workspace', path: WORKSPACE_PATH, status: 200, signedIn: true },
  { name: 'workspace, second list', path: `${WORKSPACE_PATH}/murals`, status: 200, signedIn: true },
  { ...SIGNED_IN, name: 'workspace, page 2', path: `${WORKSPACE_PATH}/murals?limit=2&page=2` },
  {
    name: 'workspace, search results',
    path: `${WORKSPACE_PATH}/murals?find=map`,
    ...SIGNED_IN,
  },
  { name: 'workspace, empty list', path: WORKSPACE_PATH, ...SIGNED_IN, service: respondsWithList([]) },
  { name: 'workspace not found', path: '/workspaces/nowhere', status: 404, signedIn: true },

  { name: 'console', path: '/console', status: 200, signedIn: true },
  { name: 'API guide', path: '/console/guide', status: 200, signedIn: true },

  { name: 'failing service', path: '/workspaces', status: 502, signedIn: true, service: respondsToApi(500) },
  {
    name: 'access refused by the service',
    path: '/workspaces',
    status: 403,
    signedIn: true,
    service: respondsToApi(403),
  },
  { name: 'missing list', path: '/workspaces', status: 404, signedIn: true, service: respondsToApi(404) },
  {
    name: 'too many requests',
    path: '/workspaces',
    status: 503,
    signedIn: true,
    service: respondsToApi(429, '{}', { 'retry-after': '3600' }),
  },
  {
    name: 'HTML response from the service',
    path: '/workspaces',
    status: 502,
    signedIn: true,
    service: respondsToApi(200, '<h1>Bad gateway</h1>'),
  },

  {
    name: 'sign-in with an unknown state',
    path: '/auth/callback?state=x&code=y',
    status: 400,
    signedIn: false,
  },
  { name: 'access denied', path: '/auth/callback', status: 403, signedIn: false, navigate: deny },
  {
    name: 'forwarding page after sign-in',
    path: '/auth/callback',
    status: 200,
    signedIn: false,
    env: { COOKIE_SAMESITE: 'strict' },
    navigate: allowAndStay,
  },
];

const hostile = { ...SIGNED_IN, service: respondsWithHostileItems };

/** Views with hostile items or a hostile search. */
export const HOSTILE_VIEWS: readonly View[] = [
  { ...hostile, name: 'hostile workspaces', path: '/workspaces' },
  { ...hostile, name: 'hostile workspaces, search results', path: '/workspaces?find=hostile' },
  { ...hostile, name: 'hostile workspace', path: WORKSPACE_PATH },
  { ...hostile, name: 'hostile workspace, search results', path: `${WORKSPACE_PATH}/murals?find=hostile` },
  ...HOSTILE_TEXTS.filter(({ name }) => /^the end|Eta|override|joiners/.test(name)).map(({ name, text }) => ({
    name: `search for ${name}`,
    path: `/workspaces?find=${encodeURIComponent(text)}`,
    status: 200,
    signedIn: true,
  })),
];

/** Responds to every API request in the same way. */
function respondsToApi(
  status: number,
  body = '{}',
  headers: Readonly<Record<string, string>> = {},
): Interceptor {
  return (req, res) => {
    if (req.url?.includes('/authorization/') !== false) return false;
    res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    return true;
  };
}

/** Responds to every API request with the same single list page. */
function respondsWithList(items: readonly unknown[]): Interceptor {
  return respondsToApi(200, JSON.stringify({ value: items }));
}

/** Responds with lists of hostile items, and with a single hostile workspace. */
export function respondsWithHostileItems(...[req, res]: Parameters<Interceptor>): boolean {
  const isSingle = new URL(req.url ?? '', 'http://service').pathname.endsWith(WORKSPACE_PATH);
  const items = [...hostileItems({ id: '"w1"', name: '"Tame"' }), ...hostileItems(), ...malformedItems()];
  const body = isSingle ? `{"value":${hostileItems()[0]}}` : toList(items);
  return respondsToApi(200, body)(req, res);
}

async function openConsentPage(page: Page, testApp: TestApp): Promise<void> {
  await page.goto(`${testApp.origin}/auth/login`);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function deny(page: Page, testApp: TestApp): Promise<void> {
  await openConsentPage(page, testApp);
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
}

/** Grants access and stays on the forwarding page. A 204 for the next page keeps the current page on screen (RFC 9110 §15.3.5). */
async function allowAndStay(page: Page, testApp: TestApp): Promise<void> {
  await page.route(`${testApp.origin}/workspaces`, async (route) => route.fulfill({ status: 204 }));
  await openConsentPage(page, testApp);
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
}
