import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from './launch.mjs';

const LOCK = join(root, '.cache', 'launch.lock');

/**
 * Runs `task` once no other launcher in this folder is running a task. Two launchers on a fresh clone therefore never install
 * packages at the same time. The lock is a file with a process id. A launcher takes over the lock of a process that is no longer running.
 * @param {() => Promise<void>} task
 */
export async function oneAtATime(task) {
  await take();
  const release = () => rmSync(LOCK, { force: true });
  process.on('exit', release);
  try {
    await task();
  } finally {
    process.off('exit', release);
    release();
  }
}

async function take() {
  mkdirSync(join(root, '.cache'), { recursive: true });
  for (let told = false; ; told = true) {
    try {
      writeFileSync(LOCK, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
    }
    const holder = readHolder();
    if (holder !== undefined && !isAlive(holder)) rmSync(LOCK, { force: true });
    else if (!told) {
      console.error(`Waiting for process ${holder ?? ''} to install or build here (${LOCK}) …`);
    }
    await delay(200);
  }
}

/** Returns the process id in the lock; undefined if the lock has just been released or is still empty. */
function readHolder() {
  try {
    return Number(readFileSync(LOCK, 'utf8')) || undefined;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}
