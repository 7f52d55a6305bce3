/** Tests run as native ES modules, because openid-client is published only in that form. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // The tests in test/containers need Docker (npm run test:containers).
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/containers/'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } },
    ],
  },
  randomize: true,
  testSequencer: '<rootDir>/scripts/jest-sequencer.mjs',
  reporters: ['default', '<rootDir>/scripts/jest-reporter.mjs'],
  // Long enough for a busy machine, because the timeout only needs to catch hung tests. Property tests with more runs take
  // longer (test/support/properties.ts).
  testTimeout: 120_000 * Number(process.env['PROPERTY_TIMES'] ?? 1),
  // More workers than cores, because many tests wait for a process, a browser or a timer.
  maxWorkers: 5,
};
