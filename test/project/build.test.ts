import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { createCompilableProject } from './small-project.ts';

const MAIN = { 'src/main.ts': 'console.log(1);\n' };

test('a build runs only after a change', async () => {
  await using project = await createCompilableProject(MAIN);
  expect((await project.run('build.mjs')).stderr).toContain('Building');
  expect((await project.run('build.mjs')).stderr).toBe('');
  await project.write('src/main.ts', 'console.log(2);\n');
  expect((await project.run('build.mjs')).stderr).toContain('Building');
  expect(readFileSync(join(project.folder, 'dist/main.js'), 'utf8')).toContain('console.log(2)');
});

test('a build removes the output of deleted files', async () => {
  await using project = await createCompilableProject({ ...MAIN, 'dist/old/old.js': '' });
  await project.run('build.mjs');
  expect(existsSync(join(project.folder, 'dist/old'))).toBe(false);
  expect(existsSync(join(project.folder, 'dist/main.js'))).toBe(true);
});

test('a failed build keeps the previous output, and the next run tries again', async () => {
  await using project = await createCompilableProject({
    'src/main.ts': 'const one: string = 1;\n',
    'dist/main.js': 'console.log(1)',
  });
  for (const _ of ['first', 'second']) {
    expect(await project.run('build.mjs')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/TS2322[^]*The build failed\. See the errors above\.\n$/),
    });
  }
  expect(readFileSync(join(project.folder, 'dist/main.js'), 'utf8')).toContain('console.log(1)');
  expect(existsSync(join(project.folder, 'dist.next'))).toBe(false);
});

test('if two launchers run at the same time, one builds and the other waits', async () => {
  await using project = await createCompilableProject(MAIN);
  const outcomes = await Promise.all([project.run('build.mjs'), project.run('build.mjs')]);
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
  expect(outcomes.filter(({ stderr }) => stderr.includes('Building'))).toHaveLength(1);
});

test('a launcher takes over the lock of a killed launcher', async () => {
  await using project = await createCompilableProject({ ...MAIN, '.cache/launch.lock': '999999999' });
  expect((await project.run('build.mjs')).code).toBe(0);
  expect(existsSync(join(project.folder, '.cache/launch.lock'))).toBe(false);
});
