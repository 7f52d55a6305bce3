import { readFile, writeFile } from 'node:fs/promises';

/** Resident memory of a process, in bytes (proc(5)). */
export async function residentBytes(pid: number): Promise<number> {
  return statusOf(pid, 'VmRSS');
}

/**
 * Watches the resident memory of a process from now on; gives the most that it has been since, in bytes. Only one
 * watch of a process at a time.
 */
export async function watchPeak(pid: number): Promise<() => Promise<number>> {
  await writeFile(`/proc/${pid}/clear_refs`, '5'); // the kernel's own peak begins anew
  return async () => statusOf(pid, 'VmHWM');
}

async function statusOf(pid: number, name: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kib = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
  if (kib === undefined) throw new Error(`no ${name} of process ${pid}`);
  return Number(kib) * 1024;
}
