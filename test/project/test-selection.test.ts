import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { LONG_TESTS, allTests, quickTests, selectTests } from '../../scripts/test-selection.mjs';
import { createSmallProject } from './small-project.ts';

const JEST = { 'node_modules/jest/bin/jest.js': 'console.log(...process.argv.slice(3));' };

test('quick tests start neither a browser nor a Cloakroom process', () => {
  const quick = quickTests();
  expect(quick).toEqual(
    expect.arrayContaining(['test/unit/upstream/target.test.ts', 'test/app/gateway/handler.test.ts']),
  );
  const isSlow = (path: string) => /^test\/(?:browser|processes\/faults)\/|main\.test|demo\.test/.test(path);
  expect(quick.filter(isSlow)).toEqual([]);
});

test('each long test exists, and only npm test without a path skips it', () => {
  expect(LONG_TESTS.filter((path) => !existsSync(path))).toEqual([]);
  expect(allTests()).toEqual(expect.arrayContaining([...LONG_TESTS]));
  expect(selectTests([]).files).toEqual(allTests().filter((path) => !LONG_TESTS.includes(path)));
  for (const path of LONG_TESTS) expect(selectTests([path]).files).toEqual([path]);
});

test('a unit test needs no programs', async () => {
  await using project = await createSmallProject({ ...JEST, 'test/unit.test.ts': `import 'node:fs';` });
  expect(await project.run('test.mjs', { args: ['test/unit'], env: { PATH: '' } })).toEqual({
    code: 0,
    stdout: '--seed=1 test/unit\n',
    stderr: '',
  });
});

test('a test needs the programs that its imported modules start', async () => {
  await using project = await createSmallProject({
    ...JEST,
    'test/unit.test.ts': '',
    'test/page.test.ts': `import { open } from './support/open.ts';`,
    'test/support/open.ts': `import { chromium } from 'playwright-core';`,
  });
  const env = { PATH: '' };
  expect(await project.run('test.mjs', { args: ['test/unit'], env })).toMatchObject({ code: 0 });
  expect(await project.run('test.mjs', { args: ['test/page'], env })).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'chromium is missing: install it, e.g. on Debian or Ubuntu: sudo apt-get install chromium-headless-shell\n',
  });
});
