import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './constants.ts';
import { startProgram } from './programs.ts';

/** A folder with nothing but a `.env`. */
export interface DotEnvFolder extends AsyncDisposable {
  /** Runs a program of ours there, such as `dist/main.js`, until it ends. */
  start(
    entry: string,
    env: Readonly<Record<string, string>>,
    ...args: string[]
  ): Promise<{ readonly code: number | null; readonly output: string }>;
}

/** Makes one; without content its `.env` is a folder, which nobody can read. */
export async function createDotEnvFolder(content: string | null): Promise<DotEnvFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-dot-env-'));
  const path = join(folder, '.env');
  await (content === null ? mkdir(path) : writeFile(path, content));
  return {
    async start(entry, env, ...args) {
      const run = ['-c', 'cd "$0" && exec "$@"', folder, process.execPath, join(ROOT, entry), ...args];
      await using program = await startProgram('sh', run, env);
      const ended = await program.ended();
      return ended;
    },
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}
