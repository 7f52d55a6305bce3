import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { ensureBuild } from './ensure-build.mjs';
import { ensurePackages } from './ensure-packages.mjs';
import { runJest } from './jest.mjs';
import { LaunchError, launch, run } from './launch.mjs';

/** Prefix of the names of all Docker objects that the run creates. */
const RUN = `cloakroom-test-${randomBytes(4).toString('hex')}`;
const IMAGE = `${RUN}:image`;

// Builds the image and runs test/containers on it, with the engine behind the `docker` command. Arguments that start with a dash
// go to `docker build`, for example --network=host if the build can't download packages. Other arguments select tests.
await launch(async () => {
  requireDocker();
  await ensurePackages();
  await ensureBuild(); // tests start programs from dist
  const args = process.argv.slice(2);
  try {
    await buildImage(args.filter((arg) => arg.startsWith('-')));
    const chosen = args.filter((arg) => !arg.startsWith('-'));
    Object.assign(process.env, { CLOAKROOM_IMAGE: IMAGE, CONTAINERS_RUN: RUN });
    const tests = chosen.length > 0 ? chosen : ['test/containers'];
    const options = ['--runInBand', '--testTimeout=180000', '--testPathIgnorePatterns', '/node_modules/'];
    ({ code: process.exitCode } = await runJest([...tests, ...options], { repeatCommand: '' }));
  } finally {
    removeLeftovers();
  }
});

function requireDocker() {
  for (const args of [['version'], ['compose', 'version']]) {
    const { error, status, stderr } = spawnSync('docker', args, { encoding: 'utf8' });
    if (error)
      throw new LaunchError('docker is missing. These tests need Docker 20.10 and Compose 2.20 or newer.');
    if (status !== 0) throw new LaunchError(`docker ${args.join(' ')} failed: ${stderr.trim()}`);
  }
}

/** @param {readonly string[]} options */
async function buildImage(options) {
  process.env['DOCKER_BUILDKIT'] = '1';
  const code = await run('docker', [
    'build',
    '--tag',
    IMAGE,
    '--build-arg',
    'REVISION=of-the-test',
    ...options,
    '.',
  ]);
  if (code !== 0) throw new LaunchError('The image could not be built. See the errors above.');
}

/** Removes Docker objects left behind by killed tests. */
function removeLeftovers() {
  remove(['ps', '--all'], ['rm', '--force', '--volumes']);
  remove(['network', 'ls'], ['network', 'rm']);
  remove(['volume', 'ls'], ['volume', 'rm']);
  spawnSync('docker', ['image', 'rm', IMAGE]);
}

/**
 * @param {readonly string[]} list
 * @param {readonly string[]} command
 */
function remove(list, command) {
  const args = [...list, '--quiet', '--filter', `name=${RUN}`];
  const left = spawnSync('docker', args, { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((id) => id !== '');
  if (left.length > 0) spawnSync('docker', [...command, ...left]);
}
