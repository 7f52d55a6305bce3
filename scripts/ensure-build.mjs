import { existsSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LaunchError, root, run, toStderr } from './launch.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

const DIST = join(root, 'dist');
const SOURCE = join(root, 'src');
/** What a build reads. */
const FOLDERS = ['src', 'public'];
const FILES = [
  'package-lock.json', // the server's bundle contains packages
  'tsconfig.json',
  'tsconfig.build.json',
  'scripts/build-pages.mjs',
  'scripts/build-server.mjs',
];
/** A file written after a successful build. The modification time of the file is the start of the build. */
const STAMP = '.built';

/**
 * Compiles src to dist, bundles the server to dist/server, and writes the page scripts and the rest of public to dist/public, if dist is
 * missing or older than its sources. The build goes into another folder, which then replaces dist. A failed build therefore leaves dist
 * unchanged, and a successful build removes the output of deleted files.
 */
export async function ensureBuild() {
  if (buildIsCurrent()) return;
  await oneAtATime(async () => {
    if (!buildIsCurrent()) await build();
  });
}

/** Returns whether dist is newer than the sources. Without a src folder, returns true, because a build is impossible. */
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

/** Returns the time of the last change to an input, in ms since the epoch. Deleting a file counts as a change to its folder. */
function newestSource() {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  );
  return Math.max(...[...FOLDERS, ...files, ...FILES].map((path) => changedAt(join(root, path)) ?? Infinity));
}

async function build() {
  console.error('Building …');
  const began = new Date();
  const next = join(root, 'dist.next');
  rmSync(next, { recursive: true, force: true });
  try {
    for (const args of [
      ['node_modules/typescript/bin/tsc', '--project', 'tsconfig.build.json', '--outDir', next],
      ['scripts/build-pages.mjs', join(next, 'public')],
      ['scripts/build-server.mjs', next],
    ]) {
      const code = await run(process.execPath, args, { stdio: toStderr });
      if (code !== 0) throw new LaunchError('The build failed. See the errors above.');
    }
    writeFileSync(join(next, STAMP), '');
    utimesSync(join(next, STAMP), began, began);
    rmSync(DIST, { recursive: true, force: true });
    renameSync(next, DIST);
  } finally {
    rmSync(next, { recursive: true, force: true });
  }
}
