import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LaunchError, root, run, toStderr } from './launch.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

const DIST = join(root, 'dist');
const SOURCE = join(root, 'src');
/** Written after a successful build. Its modification time is the start of the build. */
const STAMP = '.built';

/**
 * Compiles src to dist if dist is missing or older. It builds into another folder and then replaces dist, so a failed build leaves
 * dist unchanged, and output of deleted files disappears.
 */
export async function ensureBuild() {
  if (buildIsCurrent()) return;
  await oneAtATime(async () => {
    if (!buildIsCurrent()) await build();
  });
}

/** Whether dist is newer than its sources. Always true without a src folder, because there is nothing to build from. */
export function buildIsCurrent() {
  if (!existsSync(SOURCE)) return true;
  const builtAt = changedAt(join(DIST, STAMP));
  return builtAt !== undefined && newestSource() < builtAt;
}

/**
 * Returns the modification time in ms since the epoch, or undefined if there is no such file.
 * @param {string} path
 */
function changedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/** Returns the time of the last change to src or a tsconfig, in ms since the epoch. Deleting a file changes its folder. */
function newestSource() {
  const entries = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).map((path) =>
    join(SOURCE, path),
  );
  const configs = ['tsconfig.json', 'tsconfig.build.json'].map((name) => join(root, name));
  return Math.max(...[SOURCE, ...entries, ...configs].map((path) => changedAt(path) ?? Infinity));
}

async function build() {
  console.error('Building …');
  const began = new Date();
  const next = join(root, 'dist.next');
  rmSync(next, { recursive: true, force: true });
  try {
    const args = ['node_modules/typescript/bin/tsc', '--project', 'tsconfig.build.json', '--outDir', next];
    const code = await run(process.execPath, args, { stdio: toStderr });
    if (code !== 0) throw new LaunchError('The build failed. See the errors above.');
    writeFileSync(join(next, STAMP), '');
    utimesSync(join(next, STAMP), began, began);
    rmSync(DIST, { recursive: true, force: true });
    renameSync(next, DIST);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}
