import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildIsCurrent, ensureBuild } from './ensure-build.mjs';
import { ensurePackages, packagesAreCurrent } from './ensure-packages.mjs';
import { LaunchError, root } from './launch.mjs';

/**
 * Ensures that the compiled app can run. A production install (no TypeScript) or a container (no src) runs its build, and installs
 * nothing. A production install without a build gets the packages for development, and a message says so.
 */
export async function ensureApp() {
  const built = existsSync(join(root, 'dist'));
  const canBuild = existsSync(join(root, 'src'));
  if (!canBuild && !built) throw new LaunchError('There is neither src nor dist: nothing to run.');
  const hasCompiler = existsSync(join(root, 'node_modules', 'typescript'));
  const hasPackages = packagesAreCurrent({ production: true });
  const runnable = built && hasPackages;
  if (!canBuild || (runnable && (buildIsCurrent() || !hasCompiler))) return;
  if (!built && hasPackages && !hasCompiler) {
    console.error('There is no dist and no compiler: installing the packages for development, too.');
  }
  await ensurePackages();
  await ensureBuild();
}

/**
 * Runs a compiled file in this process, so that signals reach it.
 * @param {string} file below dist
 */
export async function runApp(file) {
  await import(new URL(`../dist/${file}`, import.meta.url).href);
}
