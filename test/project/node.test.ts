import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { createSmallProject } from './small-project.ts';

const PRINT_NODE = `
  const { execFileSync } = require('node:child_process');
  console.log(process.env.ON_OTHER, execFileSync('node', ['-p', '1 + 1']).toString().trim(), ...process.argv.slice(3));
`;
const OTHER_NODE = 'test/nodes/24/node_modules/.bin/node';

/** Creates a project with a fake Node 24, whose `node -p` always prints `it`. Node 22 has lock files but no executable. */
async function createProject() {
  const lock = (major: number) => ({ [`test/nodes/${major}/package-lock.json`]: '{"packages":{}}' });
  const installed = '{"packages":{"node_modules/node":{}}}';
  const project = await createSmallProject({
    ...lock(22),
    ...lock(24),
    'test/nodes/22/node_modules/.package-lock.json': installed,
    'test/nodes/24/node_modules/.package-lock.json': installed,
    'node_modules/jest/bin/jest.js': PRINT_NODE,
    [OTHER_NODE]: `#!/bin/sh\n[ "$1" = -p ] && echo it && exit\nON_OTHER=yes exec '${process.execPath}' "$@"\n`,
  });
  await chmod(join(project.folder, OTHER_NODE), 0o755);
  return project;
}

test('the tests and the programs that they start run on the requested Node version', async () => {
  await using project = await createProject();
  expect(await project.run('test-node.mjs', { args: ['24', 'test/gateway'] })).toMatchObject({
    code: 0,
    stdout: 'yes it --seed=1 test/gateway\n',
  });
});

test('a Node version without a lock file is refused with a list of the available versions', async () => {
  await using project = await createProject();
  expect(await project.run('test-node.mjs', { args: ['21'] })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'Name a major version of Node: 22, 24.\n',
  });
});

test('a Node version that npm lacks for this platform is refused with a workaround', async () => {
  await using project = await createProject();
  expect(await project.run('test-node.mjs', { args: ['22'] })).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^npm has no Node 22 for \S+ on \S+\. Put another build of Node first/),
  });
});

test('programs started by tests run on the same Node version as the tests', async () => {
  const run = promisify(execFile);
  const { stdout: node } = await run('node', ['--version']);
  const { stdout: npm } = await run('npm', ['version', '--json']);
  expect(node.trim()).toBe(process.version);
  expect(JSON.parse(npm)).toMatchObject({ node: process.versions.node });
});
