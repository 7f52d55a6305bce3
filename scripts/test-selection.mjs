import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { ensureBuild } from './ensure-build.mjs';
import { ensureChromium } from './ensure-chromium.mjs';
import { ensureKubectl } from './ensure-kubectl.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { root } from './launch.mjs';
import { ensureRequestsOauthlib } from './requests-oauthlib.mjs';

/**
 * Tests that take minutes, or that try every combination where a shorter test tries one. `npm run check` runs these tests, but `npm test`
 * does not. The comments name the shorter tests.
 * @type {readonly string[]}
 */
export const LONG_TESTS = [
  // Hostile data and every state in each colour scheme and width. views.test.ts checks each page once.
  'test/browser/hostile-data.test.ts',
  'test/browser/states.test.ts',
  // Long outages, and Redis topologies. `npm test` runs redis-outage.test.ts and sentinel.test.ts.
  'test/app/cli/doctor/redis-topology.test.ts',
  'test/processes/faults/cluster.test.ts',
  'test/processes/faults/redis-freezes.test.ts',
  'test/processes/faults/token-endpoint-outage.test.ts',
  // Hundreds of users, and processes replaced or stopped under load. `npm test` runs interleavings.test.ts.
  'test/processes/faults/response-isolation.test.ts',
  'test/processes/faults/replaced-processes.test.ts',
  'test/processes/faults/stopped-process.test.ts',
  // Thousands of random requests to the local service. `npm test` runs a test for each requirement of the interface.
  'test/local-service/api-altered-requests.test.ts',
  'test/local-service/authorization-endpoint-altered-requests.test.ts',
  'test/local-service/token-endpoint-interleavings.test.ts',
  // Runs of `npm run check` with stub programs instead of the real steps.
  'test/project/check.test.ts',
  // Millions of hostile bytes. `npm test` runs test/app/http/connection.test.ts.
  'test/processes/http/connection-fuzz.test.ts',
  // Alert rules over weeks of metrics, replaced certificates, and shared caches.
  'test/project/deploy/alerts.test.ts',
  'test/project/deploy/tls-replaced.test.ts',
  'test/processes/gateway/headers-shared-caches.test.ts',
];

/**
 * Programs and builds that tests need. An entry applies to a test if `sign` matches the test or a module that the test imports.
 * @type {readonly { sign: RegExp, ensure: () => Promise<void> }[]}
 */
const NEEDS = [
  { sign: /private-redis\.ts'|redis-(?:server|cli)\b/, ensure: fromApt('redis-server') },
  { sign: /from 'playwright-core'|chromium\.mjs'/, ensure: ensureChromium },
  { sign: /'Copy as curl'|flow-with-curl/, ensure: fromApt('curl') },
  { sign: /requests-oauthlib/, ensure: ensureRequestsOauthlib },
  { sign: /'haproxy'/, ensure: fromApt('haproxy') },
  { sign: /'promtool'/, ensure: fromApt('promtool', 'prometheus') },
  { sign: /'kubectl'/, ensure: ensureKubectl },
  { sign: /'nginx'/, ensure: fromApt('nginx') },
  { sign: /'caddy'/, ensure: fromApt('caddy') },
  { sign: /\bdist\/|startProgram\b|\/(?:services|static-assets|local-service)\.ts'/, ensure: ensureBuild },
];

/** Matches tests that are not quick. A quick test needs no browser and no process other than a private Redis. */
const NOT_QUICK = /from 'playwright-core'|chromium\.mjs'|from 'node:child_process'/;

/** Tests excluded from the quick tests, because the local service seldom changes. */
const LOCAL_SERVICE_TESTS = /^test\/local-service\//;

/** Jest options whose value may be a separate argument. */
const TAKES_VALUE = /^(?:-[cntw]|--(?:config|maxWorkers|outputFile|seed|testNamePattern|testTimeout))$/;

/**
 * Returns the test files that match a pattern in the Jest arguments. If no file matches, returns all except the long tests.
 * @param {readonly string[]} args
 * @returns {{ files: string[], isNamed: boolean }} paths relative to the project folder
 */
export function selectTests(args) {
  const patterns = args.filter((arg, at) => !arg.startsWith('-') && !TAKES_VALUE.test(args[at - 1] ?? ''));
  const named = allTests().filter((path) => patterns.some((pattern) => matches(path, pattern)));
  const isNamed = named.length > 0;
  return { files: isNamed ? named : allTests().filter((path) => !LONG_TESTS.includes(path)), isNamed };
}

/**
 * @param {string} path
 * @param {string} pattern a regular expression, or any other argument, such as the name of a test
 */
function matches(path, pattern) {
  try {
    return new RegExp(pattern).test(path);
  } catch {
    return false;
  }
}

/** Returns all test files that do not need Docker, as paths relative to the project folder. */
export function allTests() {
  if (!existsSync(join(root, 'test'))) return [];
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts') && !path.startsWith('containers/'))
    .map((path) => join('test', path));
}

/** Returns the quick tests, for use while writing code. */
export function quickTests() {
  return allTests().filter(
    (path) =>
      !LONG_TESTS.includes(path) &&
      !LOCAL_SERVICE_TESTS.test(path) &&
      !sourcesOf(path).some((text) => NOT_QUICK.test(text)),
  );
}

/**
 * Returns the Jest options that exclude these test files. These options must come last, because Jest treats the next
 * argument as another pattern.
 * @param {readonly string[]} files
 */
export function withoutTests(files) {
  // These options replace the patterns in jest.config.mjs.
  const patterns = ['/node_modules/', '/test/containers/', ...files];
  return patterns.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}

/**
 * Installs or builds the missing programs that these test files need. Throws a LaunchError on failure.
 * @param {readonly string[]} files paths relative to the project folder
 */
export async function prepareTests(files) {
  const sources = [...new Set(files.flatMap(sourcesOf))];
  for (const { sign, ensure } of NEEDS) {
    if (sources.some((text) => sign.test(text))) await ensure();
  }
}

/** @type {Map<string, { text: string, imports: string[] }>} */
const modules = new Map();

/**
 * Returns the sources of a test file and of all modules in test/ that it imports, directly or indirectly.
 * @param {string} file path relative to the project folder
 */
function sourcesOf(file) {
  /** @type {Map<string, string>} */
  const sources = new Map();
  const visit = (/** @type {string} */ path) => {
    if (sources.has(path)) return;
    const { text, imports } = readModule(path);
    sources.set(path, text);
    imports.forEach(visit);
  };
  visit(join(root, file));
  return [...sources.values()];
}

/** @param {string} path */
function readModule(path) {
  let found = modules.get(path);
  if (found === undefined) {
    const text = readFileSync(path, 'utf8');
    const specifiers = [...text.matchAll(/^(?:import|export) (?!type ).*?'(\.[^']+)';/gms)].map(
      ([, to = '']) => to,
    );
    const imports = specifiers.map((to) => resolve(dirname(path), to)).filter(isInTests);
    found = { text, imports };
    modules.set(path, found);
  }
  return found;
}

/** @param {string} path */
function isInTests(path) {
  return /^test\/.*\.(?:ts|mjs)$/.test(relative(root, path)) && existsSync(path);
}

/**
 * @param {string} program
 * @param {string} [aptPackage]
 */
function fromApt(program, aptPackage = program) {
  return () => ensureProgram(program, aptPackage);
}
