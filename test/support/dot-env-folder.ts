import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './constants.ts';
import { startProgram } from './programs.ts';

/** Creates a folder that contains only `.env`. If `content` is null, `.env` is a folder, which can't be read as a file. */
export async function createDotEnvFolder(content: string | null) {
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-dot-env-'));
  const path = join(folder, '.env');
  await (content === null ? mkdir(path) : writeFile(path, content));
  return {
    /** Runs one of the project's programs, such as `dist/main.js`, in the folder, and waits for it to exit. */
    async start(entry: string, env: Readonly<Record<string, string>>, ...args: string[]) {
      const run = ['-c', 'cd "$0" && exec "$@"', folder, process.execPath, join(ROOT, entry), ...args];
      await using program = await startProgram('sh', run, env);
      const ended = await program.waitForExit();
      return ended;
    },
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
}
