import type { Page } from 'playwright-core';
import type { TestApp, Interceptor } from '../test-app.ts';
import { hostileItems, HOSTILE_TEXTS, oddItems, toList } from './hostile-items.ts';

/**
 * A page of ours, or a state of one, that people see. Whatever must hold for all of them is tested over the table
 * below: a page that is new there is covered.
 */
export interface View {
  readonly name: string;
  /** Its address below the origin. */
  readonly path: string;
  readonly status: number;
  readonly signedIn: boolean;
  /** Variables of its testApp; views with the same ones share a testApp. */
  readonly env?: Readonly<Record<string, string>>;
  /** Answers in the service's place while it is shown. */
  readonly service?: Interceptor;
  /** The way there, where its address alone does not lead there. */
  readonly reach?: (page: Page, testApp: TestApp, path: string) => Promise<void>;
  /** Whether the browser's clock is stopped on the way there: its profile is of no use to other views. */
  readonly stopsClock?: boolean;
  /** The status of what its scripts ask for, where that is meant to fail. */
  readonly failing?: number;
}

/** The first workspace of the local service. */
const INSIDE = '/workspaces/workspace5733149';

/** The views that everything must hold for. */
export const VIEWS: readonly View[] = [
  { name: 'landing', path: '/', status: 200, signedIn: false },
  { name: 'no such page, signed out', path: '/nowhere', status: 404, signedIn: false },
  { name: 'no such page', path: '/nowhere', status: 404, signedIn: true },
  { name: 'address that can’t be read', path: '/workspaces/%E0%A4%A', status: 400, signedIn: true },

  { name: 'workspaces', path: '/workspaces', status: 200, signedIn: true },
  { name: 'workspaces, page 2', path: '/workspaces?page=2', status: 200, signedIn: true },
  { name: 'workspaces, past the end', path: '/workspaces?page=50', status: 200, signedIn: true },
  { name: 'workspaces, none', path: '/workspaces', status: 200, signedIn: true, service: answersList([]) },
  {
    name: 'workspaces, one',
    path: '/workspaces',
    status: 200,
    signedIn: true,
    service: answersList([{ id: 'w1', name: 'Only one' }]),
  },
  { name: 'workspaces, found', path: '/workspaces?find=design', status: 200, signedIn: true },
  { name: 'workspaces, none found', path: '/workspaces?find=no+such+words', status: 200, signedIn: true },

  { name: 'inside a workspace', path: INSIDE, status: 200, signedIn: true },
  { name: 'inside a workspace, second kind', path: `${INSIDE}/murals`, status: 200, signedIn: true },
  {
    name: 'inside a workspace, page 2',
    path: `${INSIDE}/murals?limit=2&page=2`,
    status: 200,
    signedIn: true,
  },
  { name: 'inside a workspace, found', path: `${INSIDE}/murals?find=a`, status: 200, signedIn: true },
  { name: 'inside a workspace, none', path: INSIDE, status: 200, signedIn: true, service: answersList([]) },
  { name: 'no such workspace', path: '/workspaces/nowhere', status: 404, signedIn: true },

  { name: 'console', path: '/console', status: 200, signedIn: true },
  { name: 'guide to calling the API', path: '/console/guide', status: 200, signedIn: true },

  { name: 'service fails', path: '/workspaces', status: 502, signedIn: true, service: answersApi(500) },
  { name: 'service refuses', path: '/workspaces', status: 403, signedIn: true, service: answersApi(403) },
  { name: 'list is gone', path: '/workspaces', status: 404, signedIn: true, service: answersApi(404) },
  {
    name: 'too many requests',
    path: '/workspaces',
    status: 503,
    signedIn: true,
    service: answersApi(429, '{}', { 'retry-after': '3600' }),
  },
  {
    name: 'service answers nonsense',
    path: '/workspaces',
    status: 502,
    signedIn: true,
    service: answersApi(200, '<h1>Bad gateway</h1>'),
  },

  { name: 'sign-in that nobody began', path: '/auth/callback?state=x&code=y', status: 400, signedIn: false },
  { name: 'access denied', path: '/auth/callback', status: 403, signedIn: false, reach: deny },
  {
    name: 'on the way after sign-in',
    path: '/auth/callback',
    status: 200,
    signedIn: false,
    env: { COOKIE_SAMESITE: 'strict' },
    reach: allowAndStay,
  },
];

const hostile: Pick<View, 'status' | 'signedIn' | 'service'> = {
  status: 200,
  signedIn: true,
  service: answersHostile,
};

/** The same views where the service sends anything but what is expected, or an address asks for it. */
export const HOSTILE_VIEWS: readonly View[] = [
  { ...hostile, name: 'hostile workspaces', path: '/workspaces' },
  { ...hostile, name: 'hostile workspaces, found', path: '/workspaces?find=hostile' },
  { ...hostile, name: 'inside a hostile workspace', path: INSIDE },
  { ...hostile, name: 'inside a hostile workspace, found', path: `${INSIDE}/murals?find=hostile` },
  ...HOSTILE_TEXTS.filter(({ name }) => /^the end|Eta|override|joiners/.test(name)).map(({ name, text }) => ({
    name: `search for ${name}`,
    path: `/workspaces?find=${encodeURIComponent(text)}`,
    status: 200,
    signedIn: true,
  })),
];

/** The service gives this to every call of its API. */
function answersApi(
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

/** Each list of the service is this one page. */
function answersList(items: readonly unknown[]): Interceptor {
  return answersApi(200, JSON.stringify({ value: items }));
}

/** Lists of hostile items, and a single workspace that is one. */
export function answersHostile(...[req, res]: Parameters<Interceptor>): boolean {
  const isSingle = new URL(req.url ?? '', 'http://service').pathname.endsWith(INSIDE);
  const items = [...hostileItems({ id: '"w1"', name: '"Tame"' }), ...hostileItems(), ...oddItems()];
  const body = isSingle ? `{"value":${hostileItems()[0]}}` : toList(items);
  return answersApi(200, body)(req, res);
}

async function comeToConsent(page: Page, testApp: TestApp): Promise<void> {
  await page.goto(`${testApp.origin}/auth/login`);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function deny(page: Page, testApp: TestApp): Promise<void> {
  await comeToConsent(page, testApp);
  await page.getByRole('button', { name: 'Deny', exact: true }).click();
}

/** The page goes on by itself: where to has no content, so that this one stays to be looked at (RFC 9110 §15.3.5). */
async function allowAndStay(page: Page, testApp: TestApp): Promise<void> {
  await page.route(`${testApp.origin}/workspaces`, async (route) => route.fulfill({ status: 204 }));
  await comeToConsent(page, testApp);
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
}
