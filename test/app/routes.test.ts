import { beforeAll, describe, expect, test } from '@jest/globals';
import { createApp } from '../../src/app.ts';
import { ROUTES, toRouteName } from '../../src/routes.ts';
import { useTestApp } from '../support/fixtures.ts';
import { sendRaw } from '../support/raw-client.ts';
import { routes } from '../unit/console/openapi-document.ts';

const testApp = useTestApp();
let cookie: string;
beforeAll(async () => {
  ({ cookie } = await testApp.createSession());
});

/** Sends a request for this exact target, with a session. Resolves with the status and the redirect location. */
async function send(target: string, method = 'GET', sessionCookie = cookie) {
  const fields = ['Host: x', `Cookie: ${sessionCookie}`, 'Sec-Fetch-Site: same-origin', 'Connection: close'];
  const response = await sendRaw(testApp, [`${method} ${target} HTTP/1.1`, ...fields, '', ''].join('\r\n'));
  const location = /^location: (.*)\r$/im.exec(response.split('\r\n\r\n', 1)[0] ?? '')?.[1] ?? null;
  return { status: Number(response.slice(9, 12)), location };
}

const encoded = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`;

/** Spellings that some servers treat as equivalent to this path, so they could bypass a path rule in a proxy. */
const otherSpellings = (path: string): string[] =>
  [
    ...['/', '//', '/?a=b', '/.', '%2f', '%3f', ';x=y', '%20', '%00', '.'].map((end) => path + end),
    ...['/', '/.', '/x/..', '/workspaces/..'].map((start) => start + path),
    path.replace(/\w/, encoded),
    path.replace(/\w$/, encoded),
    path.replace(/(?<=\w)\//, '%2f'),
    path.replace(/(?<=\w)\//, '\\'),
    path.toUpperCase(),
  ].filter((spelling) => spelling !== path);

describe.each(['/auth/login', '/auth/callback', '/auth/session', '/healthz', '/readyz', '/openapi.json'])(
  '%s',
  (path) => {
    test('is served with any query', async () => {
      for (const query of ['', '?', '?a=/..%2f/'])
        expect(await send(path + query)).not.toMatchObject({ status: 404 });
    });

    test.each(otherSpellings(path))('is not served at %s', async (target) => {
      expect(await send(target)).toEqual({ status: 404, location: null });
    });

    const otherForms = [
      `${path}#`,
      `${path}#x`,
      `${path}?a#/`,
      `http://x${path}`,
      `http://u:p@x${path}`,
      `x:${path}`,
    ];
    test.each(otherForms)('is refused in the form %s', async (target) => {
      expect(await send(target)).toEqual({ status: 400, location: null });
    });
  },
);

test('sign-out is served only at its exact path', async () => {
  const own = (await testApp.createSession()).cookie;
  for (const target of otherSpellings('/auth/logout'))
    expect(await send(target, 'POST', own)).toEqual({ status: 404, location: null });
  expect(await send('/console', 'GET', own)).toMatchObject({ status: 200 });
  expect(await send('/auth/logout', 'POST', own)).toEqual({ status: 303, location: '/' });
});

test.each([
  ['/workspaces/', '/workspaces'],
  ['/workspaces/?limit=5&find=a/', '/workspaces?limit=5&find=a/'],
  ['/workspaces/alpha/rooms/', '/workspaces/alpha/rooms'],
  ['/console/guide/', '/console/guide'],
])('%s redirects to the page %s', async (target, location) => {
  for (const method of ['GET', 'HEAD']) expect(await send(target, method)).toEqual({ status: 308, location });
});

test.each([
  ['GET', '//'],
  ['GET', '//other.example/'],
  ['GET', '//other.example/workspaces/'],
  ['GET', '/\\other.example/'],
  ['GET', '/workspaces//'],
  ['GET', '/assets/cloakroom.css/'],
  ['POST', '/workspaces/'],
  ['OPTIONS', '*'],
])('%s %s is not found', async (method, target) => {
  expect(await send(target, method)).toEqual({ status: 404, location: null });
});

/** The part of an Express layer that these tests read. */
interface Layer {
  readonly route?: {
    readonly path: string | readonly string[];
    /** `_all` stands for `router.all()`. */
    readonly methods: Readonly<Record<string, boolean>>;
  };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** Returns the path templates of all routers with their methods. The templates omit the mount path of the router. */
function routesIn(stack: readonly Layer[]): (readonly [path: string, methods: readonly string[]])[] {
  return stack.flatMap(({ route, handle }) => {
    if (route === undefined) return routesIn(handle.stack ?? []);
    const methods = Object.keys(route.methods).flatMap((name) => (name === '_all' ? [] : name.toUpperCase()));
    return [route.path]
      .flat()
      .flatMap(toTemplates)
      .map((path) => [path, methods] as const);
  });
}

/** Expands `/a{/:b}` into its two templates. */
function toTemplates(path: string): string[] {
  const withAndWithout = [path.replaceAll(/\{([^}]*)\}/g, '$1'), path.replaceAll(/\{[^}]*\}/g, '')];
  return [...new Set(withAndWithout)].map((one) => one.replaceAll(/:(\w+)/g, '{$1}'));
}

/** Space-separated targets, keyed by route. */
const TARGETS = {
  '/': '/ /?return_to=/a',
  '/auth/login': '/auth/login?return_to=%2Fworkspaces /auth/login?a#b',
  '/auth/callback': '/auth/callback?code=a&state=b',
  '/console/guide': '/console/guide',
  '/workspaces': '/workspaces?page=2',
  '/workspaces.csv': '/workspaces.csv',
  '/workspaces.ndjson': '/workspaces.ndjson',
  '/workspaces/{id}': '/workspaces/alpha /workspaces/alpha.beta /workspaces/alpha.csv',
  '/workspaces/{id}/{kind}': '/workspaces/alpha/rooms',
  '/workspaces/{id}/{kind}.csv': '/workspaces/alpha/rooms.csv?a=b',
  '/workspaces/{id}/{kind}.ndjson': '/workspaces/alpha/murals.ndjson',
  '/api/*': '/api/public/v1/things /api',
  '/assets/*': '/assets/abc/cloakroom.css',
  none:
    '/workspaces/ /auth/login/ /auth/login#a /readyz/?a /Workspaces /AUTH/login /API/public/v1/things /apis ' +
    '/workspaces/alpha/rooms/ /workspaces/alpha/rooms/one /constructor /wp-login.php // * http://x/workspaces',
};

test.each(Object.entries(TARGETS))('the route %s matches the targets %s', (route, targets) => {
  for (const target of targets.split(' ')) expect([target, toRouteName(target)]).toEqual([target, route]);
});

test('an empty target has no route', () => {
  expect(toRouteName('')).toBe('none');
});

describe('the route table', () => {
  /** Routes without an Express router. */
  const others = new Set(['/assets/*', '/api/*', 'none']);
  const names = ROUTES.filter((name) => !others.has(name));
  const appRoutes = () => routesIn(createApp(testApp.services).router.stack as unknown as Layer[]);
  const isFor = (name: string, path: string) => name === path || (path !== '/' && name.endsWith(path));

  test('has the same routes as the app', () => {
    const paths = appRoutes().map(([path]) => path);
    expect(paths.length).toBeGreaterThan(10);
    expect(paths.filter((path) => !names.some((name) => isFor(name, path)))).toEqual([]);
    expect(names.filter((name) => !paths.some((path) => isFor(name, path)))).toEqual([]);
  });

  test('has the same methods in the app and in openapi.json', () => {
    for (const name of names) {
      const accepted = appRoutes().flatMap(([path, some]) => (isFor(name, path) ? some : []));
      const documented = routes().flatMap(({ path, method }) => (path === name ? method : []));
      expect([name, [...new Set(accepted)].toSorted()]).toEqual([name, documented.toSorted()]);
    }
  });

  test('has the same routes as openapi.json and finds the route for each path', () => {
    const documented = [...new Set(routes().map(({ path }) => path))];
    const named = documented.map((path) => path.replace('/api/{path}', '/api/*'));
    expect(named.toSorted()).toEqual([...names, '/api/*'].toSorted());
    const paths = documented.map((path) =>
      toRouteName(path.replace('{path}', 'public/v1/a').replace('{id}', 'one').replace('{kind}', 'rooms')),
    );
    expect(paths).toEqual(named);
  });

  test('treats upper and lower case as the app does', async () => {
    const upperCase = names
      .filter((name) => name !== '/')
      .map((name) => name.toUpperCase().replaceAll(/[{}]/g, ''));
    const responses = await Promise.all(
      [...upperCase, '/API/public/v1/things'].map(async (path) => {
        const { status } = await fetch(testApp.origin + path, { redirect: 'manual' });
        return `${path} ${status} ${toRouteName(path)}`;
      }),
    );
    expect(responses.filter((response) => !response.endsWith(' 404 none'))).toEqual([]);
  });
});
