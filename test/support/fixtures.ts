import { afterAll, beforeAll } from '@jest/globals';
import { startTestApp, type TestApp } from './test-app.ts';

/** Starts a test app before the tests of a file, or of a `describe`, and ends it after them. */
export function useTestApp(...options: Parameters<typeof startTestApp>): TestApp {
  return useFixture(async () => startTestApp(...options));
}

/**
 * Starts a fixture before the tests of a file, or of a `describe`, and disposes of it after them. The result stands for the
 * fixture: use it in tests and hooks, not before they run.
 */
export function useFixture<Fixture extends AsyncDisposable>(start: () => Promise<Fixture>): Fixture {
  let started: Fixture | undefined;
  beforeAll(async () => {
    started = await start();
  });
  afterAll(async () => started?.[Symbol.asyncDispose]());
  const fixture = () => {
    if (started === undefined) throw new Error('The fixture has not started yet.');
    return started;
  };
  return new Proxy({} as Fixture, {
    get: (_, key) => Reflect.get(fixture(), key) as unknown,
    set: (_, key, value) => Reflect.set(fixture(), key, value),
  });
}
