/** Tests run as native ES modules: openid-client is published in no other form. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // They need Docker: npm run test:containers.
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
  // For what hangs: a machine on which twenty others want the cores must meet it, too. Properties of many runs take longer
  // (test/support/properties.ts).
  testTimeout: 120_000 * Number(process.env['PROPERTY_TIMES'] ?? 1),
  // Many tests wait, for a process, a browser or a timer: with two workers, two cores are often idle.
  maxWorkers: 5,
};
