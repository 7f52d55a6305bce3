import { afterAll, beforeAll } from '@jest/globals';
import { startTestApp, type TestApp } from './test-app.ts';

/** Starts a test app before the tests in a file or a `describe`, and disposes of the app afterwards. */
export function useTestApp(...options: Parameters<typeof startTestApp>): TestApp {
  return useFixture(async () => startTestApp(...options));
}

/**
 * Starts a fixture before the tests in a file or a `describe`, and disposes of the fixture afterwards. Returns a proxy for the
 * fixture, for use in tests, hooks and later fixtures.
 */
export function useFixture<Fixture extends AsyncDisposable>(start: () => Promise<Fixture>): Fixture {
  let started: Fixture | undefined;
  beforeAll(async () => {
    const index = running.push(undefined) - 1;
    started = await start();
    running[index] = started;
  });
  afterAll(async () => running.pop()?.[Symbol.asyncDispose]());
  const fixture = () => {
    if (started === undefined) throw new Error('The fixture has not started yet.');
    return started;
  };
  return new Proxy({} as Fixture, {
    getPrototypeOf: () => Reflect.getPrototypeOf(fixture()), // for instanceof
    get: (_, key) => Reflect.get(fixture(), key) as unknown,
    set: (_, key, value) => Reflect.set(fixture(), key, value),
  });
}

/** The fixtures in the order in which they were started. Disposal runs in reverse order, because a fixture may depend on an earlier one. */
const running: (AsyncDisposable | undefined)[] = [];
