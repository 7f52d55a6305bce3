import { expect, test } from '@jest/globals';
import { readBuild } from '../../../src/config/build-info.ts';
import { packageVersion } from '../../support/package-version.ts';

test('an image says which build it is', () => {
  const env = { BUILD_VERSION: '7.1', BUILD_REVISION: '4bf92f3577b34da6' };
  expect(readBuild(env)).toEqual({ version: '7.1', revision: '4bf92f3577b34da6' });
});

test.each([
  ['nobody says it', {}],
  ['it is said emptily', { BUILD_VERSION: '', BUILD_REVISION: '' }],
])('where %s, the version is that of the package, and the revision unknown', (_where, env) => {
  expect(readBuild(env)).toEqual({ version: packageVersion, revision: 'unknown' });
});
