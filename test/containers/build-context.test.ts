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
  'test/a.ts',
];

test('of what lies in the project’s folder, no secret and nothing that is not needed is given to a build', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-context-'));
  try {
    for (const path of [...WANTED, ...UNWANTED]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), '');
    }
    await cp('.dockerignore', join(folder, '.dockerignore'));
    await writeFile(join(folder, 'Dockerfile'), 'FROM scratch\nCOPY . /\n');
    const given = join(folder, 'given');
    await docker(['build', '--quiet', '--output', `type=local,dest=${given}`, folder], {
      DOCKER_BUILDKIT: '1',
    });
    const entries = await readdir(given, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    const paths = files.map(({ parentPath, name }) => join(parentPath, name).slice(given.length + 1));
    expect(paths.toSorted()).toEqual(WANTED.toSorted());
  } finally {
    await rm(folder, { recursive: true });
  }
});
