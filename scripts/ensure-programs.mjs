import { accessSync, constants, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { LaunchError, run, toStderr } from './launch.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

/**
 * Installs a package without starting its service. Debian consults policy-rc.d before starting a service, and runlevel 1 has no
 * services. The shell removes its policy-rc.d even if the launcher is killed, and never touches an existing policy-rc.d.
 */
const INSTALL = `
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 143' HUP INT TERM
    printf '#!/bin/sh\\nexit 101\\n' >"$policy" && chmod 755 "$policy"
  fi
  apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$1"
`;

/** Ensures that redis-server is installed, unless `REDIS_URL` makes a private Redis unnecessary. */
export async function ensureRedis() {
  if (!process.env['REDIS_URL'] && !process.env['REDIS_URL_FILE']) {
    await ensureProgram('redis-server', 'redis-server');
  }
}

/**
 * Ensures that a program is on the PATH.
 * @param {string} name
 * @param {string} aptPackage
 */
export async function ensureProgram(name, aptPackage) {
  await ensureFromApt(name, aptPackage, () => isOnPath(name));
}

/**
 * Ensures that a program or package is installed. As root on a Debian-based system, installs it with apt. Otherwise, throws a
 * LaunchError with the command to run.
 * @param {string} name
 * @param {string} aptPackage
 * @param {() => boolean} isThere
 */
export async function ensureFromApt(name, aptPackage, isThere) {
  if (isThere()) return;
  const byHand = `install it, e.g. on Debian or Ubuntu: sudo apt-get install ${aptPackage}`;
  if (process.getuid?.() !== 0 || !isDebian() || !isOnPath('apt-get')) {
    throw new LaunchError(`${name} is missing: ${byHand}`);
  }
  await oneAtATime(async () => {
    if (isThere()) return;
    console.error(`Installing ${aptPackage} …`);
    // Existing package lists may name versions that no longer exist.
    const installed =
      (hasPackageLists() && (await install(aptPackage))) || (await updateAndInstall(aptPackage));
    if (!installed || !isThere()) throw new LaunchError(`${name} could not be installed: ${byHand}`);
  });
}

/** @param {string} aptPackage */
async function updateAndInstall(aptPackage) {
  const code = await run('apt-get', ['update', '-o', 'DPkg::Lock::Timeout=300'], { stdio: toStderr });
  return code === 0 && (await install(aptPackage));
}

/** @param {string} aptPackage */
async function install(aptPackage) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  return (await run('sh', ['-c', INSTALL, 'install', aptPackage], { stdio: toStderr, env })) === 0;
}

/**
 * Returns the path of a program on the PATH, or undefined.
 * @param {string} name
 */
export function pathOf(name) {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder || '.', name)).find(isProgram);
}

/** @param {string} name */
function isOnPath(name) {
  return pathOf(name) !== undefined;
}

/** @param {string} path */
function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isDebian() {
  const path = '/etc/os-release';
  return existsSync(path) && /^ID(?:_LIKE)?=.*\b(?:debian|ubuntu)\b/m.test(readFileSync(path, 'utf8'));
}

function hasPackageLists() {
  const folder = '/var/lib/apt/lists';
  return existsSync(folder) && readdirSync(folder).some((name) => name.includes('_Packages'));
}
