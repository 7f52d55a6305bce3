import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { buildIsCurrent, ensureBuild } from './ensure-build.mjs';
import { ensurePackages, packagesAreCurrent } from './ensure-packages.mjs';
import { LaunchError, root } from './launch.mjs';

/**
 * Ensures that the compiled app can run. In a production install (no TypeScript) or a container (no src), the function uses the
 * existing build and installs nothing. In a production install without a build, the function installs the development packages.
 */
export async function ensureApp() {
  const built = existsSync(join(root, 'dist'));
  const canBuild = existsSync(join(root, 'src'));
  if (!canBuild && !built) throw new LaunchError('Cloakroom can’t start: src and dist are missing.');
  const hasCompiler = existsSync(join(root, 'node_modules', 'typescript'));
  const hasPackages = packagesAreCurrent({ production: true });
  const runnable = built && hasPackages;
  if (!canBuild || (runnable && (buildIsCurrent() || !hasCompiler))) return;
  if (!built && hasPackages && !hasCompiler) {
    console.error('dist and the compiler are missing. Installing the development packages.');
  }
  await ensurePackages();
  await ensureBuild();
}

/**
 * Runs a compiled file in this process, so that signals reach it.
 * @param {string} file relative to dist
 */
export async function runApp(file) {
  await import(new URL(`../dist/${file}`, import.meta.url).href);
}
