import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { GATEWAY_PROBLEMS } from '../../../src/errors.ts';
import { createApp } from '../../../src/app.ts';
import { PROBLEM_CODES } from '../../../src/gateway/gateway-metrics.ts';
import { ROUTES, toRouteName } from '../../../src/routes.ts';
import { routes } from '../../unit/console/openapi-document.ts';
import { startTestApp } from '../../support/test-app.ts';
import type { TestApp } from '../../support/test-app.ts';

// What metrics call routes and problems is written by hand: here it is held to what there is.

let testApp: TestApp;
beforeAll(async () => {
  testApp = await startTestApp();
});
afterAll(async () => testApp[Symbol.asyncDispose]());

/** What Express keeps of its routes, as far as it is looked at here. */
interface Layer {
  readonly route?: {
    readonly path: string | readonly string[];
    /** `_all` for those of `router.all()`. */
    readonly methods: Readonly<Record<string, boolean>>;
  };
  readonly handle: { readonly stack?: readonly Layer[] };
}

/** Templates as the routers write them, without the path that a router is mounted at, and the methods of each. */
function routesIn(stack: readonly Layer[]): (readonly [path: string, methods: readonly string[]])[] {
  return stack.flatMap(({ route, handle }) => {
    if (route === undefined) return routesIn(handle.stack ?? []);
    const named = Object.keys(route.methods).filter((method) => method !== '_all');
    const methods = named.flatMap((method) => (method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]));
    return [route.path]
      .flat()
      .flatMap(toTemplates)
      .map((path) => [path, methods] as const);
  });
}

/** `/a{/:b}` is two. */
function toTemplates(path: string): string[] {
  const withAndWithout = [path.replaceAll(/\{([^}]*)\}/g, '$1'), path.replaceAll(/\{[^}]*\}/g, '')];
  return [...new Set(withAndWithout)].map((one) => one.replaceAll(/:(\w+)/g, '{$1}'));
}

describe('the routes of the metrics', () => {
  /** Those that no router has: one matches by hand, one is the gateway's, and one is for what there is not. */
  const others = new Set(['/assets/*', '/api/*', 'none']);
  const names = Object.keys(ROUTES).filter((name) => !others.has(name));
  const appRoutes = () => routesIn(createApp(testApp.services).router.stack as unknown as Layer[]);
  const isFor = (name: string, path: string) => name === path || (path !== '/' && name.endsWith(path));

  test('are those of the app', () => {
    const written = appRoutes().map(([path]) => path);
    expect(written.length).toBeGreaterThan(10);
    expect(written.filter((path) => !names.some((name) => isFor(name, path)))).toEqual([]);
    expect(names.filter((name) => !written.some((path) => isFor(name, path)))).toEqual([]);
  });

  test('have the methods of the app', () => {
    const taken = names.map((name) => {
      const methods = appRoutes().flatMap(([path, some]) => (isFor(name, path) ? some : []));
      return [name, [...new Set(methods)].toSorted()];
    });
    expect(taken).toEqual(names.map((name) => [name, ROUTES[name]?.toSorted()]));
  });

  test('are those of openapi.json, and a path of each has its name', () => {
    const documented = [...new Set(routes().map(({ path }) => path))];
    const named = documented.map((path) => path.replace('/api/{path}', '/api/*'));
    expect(named.toSorted()).toEqual([...names, '/api/*'].toSorted());
    const asked = documented.map((path) =>
      toRouteName(path.replace('{path}', 'public/v1/a').replace('{id}', 'one').replace('{kind}', 'rooms')),
    );
    expect(asked).toEqual(named);
  });

  test('are found by no other case than the app finds them', async () => {
    const shouted = names
      .filter((name) => name !== '/')
      .map((name) => name.toUpperCase().replaceAll(/[{}]/g, ''));
    const answers = await Promise.all(
      [...shouted, '/API/public/v1/things'].map(async (path) => {
        const { status } = await fetch(testApp.origin + path, { redirect: 'manual' });
        return `${path} ${status} ${toRouteName(path)}`;
      }),
    );
    expect(answers.filter((answer) => !answer.endsWith(' 404 none'))).toEqual([]);
  });
});

test('the codes of refusals are those of the gateway’s problems', () => {
  // `other` stands for a code that the list lacks.
  const codes = [...Object.keys(GATEWAY_PROBLEMS), 'other'];
  expect(codes.toSorted()).toEqual([...PROBLEM_CODES].toSorted());
});
