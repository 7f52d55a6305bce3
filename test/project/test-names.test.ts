import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

// A test is named after its module. For example, test/unit/session/record.test.ts tests `session/record.ts`.

/** Folders in which the path of a test corresponds to the path of its module. */
const FOLDERS_BY_MODULE = ['test/unit', 'test/app', 'test/processes', 'test'];
/** Folders in which tests are named after their subject instead of a module. */
const BY_SUBJECT =
  /^test\/(?:browser|containers|project|security|processes\/(?:faults|secrets)|local-service\/(?:clients|conformance))\//;

/** Modules that are tested through another module, because they only combine other modules or are used only once. */
const TESTED_WITH: Readonly<Record<string, string>> = {
  run: 'test/processes/main.test',
  services: 'test/app/server.test',
  'cli/doctor/finding': 'test/unit/cli/doctor/report.test',
  'cli/doctor/redis-commands': 'test/app/cli/doctor/redis-checks.test',
  'cli/doctor/redis-connection': 'test/app/cli/doctor/redis-checks.test',
  'config/build-info': 'test/unit/config/load.test',
  'config/reloadable': 'test/unit/session/cookie.test',
  'console/problem-advice': 'test/app/console/routes-openapi.test',
  'gateway/api-request': 'test/unit/gateway/proxy.test',
  'http/node-internals': 'test/app/http/connection.test',
  'http/problem': 'test/app/http/error-pages.test',
  'local-service/authorization-request': 'test/local-service/authorization-endpoint.test',
  'local-service/browser-sign-in': 'test/local-service/authorization-endpoint.test',
  'local-service/error-responses': 'test/local-service/conformance/errors.test',
  'local-service/faults/fault': 'test/local-service/faults/inject-faults.test',
  'local-service/faults/fault-store': 'test/local-service/faults/faults-endpoint.test',
  'local-service/faults/faults-page': 'test/local-service/faults/faults-endpoint.test',
  'local-service/oauth-model': 'test/local-service/token-endpoint.test',
  'local-service/oauth-store': 'test/local-service/token-endpoint.test',
  'local-service/pages': 'test/local-service/authorization-endpoint.test',
  'local-service/request-parameters': 'test/local-service/api-altered-requests.test',
  'local-service/secrets': 'test/local-service/token-endpoint.test',
  'local-service/seed/items': 'test/local-service/seed/workspaces.test',
  'local-service/seed/names': 'test/local-service/seed/workspaces.test',
  'oauth/metrics': 'test/app/metrics-events.test',
  'oauth/refresh/journal': 'test/app/oauth/refresh/lock.test',
  'oauth/refresh/refresh': 'test/app/oauth/refresh/token-provider.test',
  'oauth/require-session': 'test/app/server.test',
  'oauth/routes': 'test/app/oauth/login.test',
  'oauth/services': 'test/app/oauth/callback.test',
  'oauth/sign-in-transactions': 'test/app/oauth/callback.test',
  'observability/prometheus': 'test/app/metrics-bounds.test',
  'redis/info': 'test/unit/cli/doctor/redis-checks.test',
  'redis/probe': 'test/app/observability/health.test',
  'session/express-session': 'test/app/oauth/callback.test',
  'session/session-services': 'test/app/session/events.test',
  'upstream/quota': 'test/unit/gateway/concurrency.test',
  'upstream/service-metrics': 'test/app/metrics-events.test',
  'workspaces/page-views': 'test/unit/workspaces/list-view.test',
  'workspaces/shown-text': 'test/unit/workspaces/item-view.test',
  'workspaces/workspaces-services': 'test/app/workspaces/routes.test',
};

/** Returns the paths, without the extension, of all files under a folder that have this extension. */
const filesIn = (folder: string, extension: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(extension))
    .map((path) => path.slice(0, -extension.length));

const sources = filesIn('src', '.ts');
const modules = sources.filter((path) => !path.startsWith('browser/'));
const tests = filesIn('test', '.ts')
  .filter((path) => path.endsWith('.test'))
  .map((path) => join('test', path));

/** Returns whether a test is named after a module. `proxy-replay.test.ts` is one of several tests for `proxy.ts`. */
const isNamedAfter = (path: string, module: string): boolean =>
  FOLDERS_BY_MODULE.map((folder) => join(folder, module)).some(
    (start) => path === `${start}.test` || path.startsWith(`${start}-`),
  );

test('each module has a test with its name or a test listed in the table', () => {
  const unnamed = modules.filter((module) => !tests.some((path) => isNamedAfter(path, module)));
  expect(unnamed.toSorted()).toEqual(Object.keys(TESTED_WITH).toSorted());
  expect(Object.values(TESTED_WITH).filter((path) => !tests.includes(path))).toEqual([]);
});

test('each module test has the path of an existing module', () => {
  const byModule = tests.filter((path) => !BY_SUBJECT.test(path));
  expect(byModule.filter((path) => !sources.some((module) => isNamedAfter(path, module)))).toEqual([]);
});
