import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { docker } from '../support/containers/docker.ts';

const WANTED = [
  '.npmrc',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'src/main.ts',
  'views/home.eta',
  'public/a.css',
  'scripts/build-pages.mjs',
  'scripts/build-server.mjs',
];
const UNWANTED = [
  '.env',
  '.env.production',
  'src/.env',
  '.git/config',
  'secrets/session-keys',
  'public/tls.key',
  'dist/main.js',
  'node_modules/a/index.js',
  'scripts/check.mjs',
  'test/a.ts',
];

test('a build receives only the project files that it needs, and no secrets', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-context-'));
  try {
    for (const path of [...WANTED, ...UNWANTED]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), '');
    }
    await cp('.dockerignore', join(folder, '.dockerignore'));
    await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY . /\n');
    const output = join(folder, 'output');
    const args = ['build', '--quiet', '--output', `type=local,dest=${output}`, folder];
    await docker(args, { DOCKER_BUILDKIT: '1' });
    const entries = await readdir(output, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(output.length + 1));
    expect(paths.toSorted()).toEqual(WANTED.toSorted());
  } finally {
    await rm(folder, { recursive: true });
  }
});
