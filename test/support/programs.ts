import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDeferred } from '../../src/promises.ts';
import { ROOT } from './constants.ts';
import { recordLogLines, recordSecretVariables } from './log-audit.ts';

/** A program in its own process, with its own folder for temporary files. */
export type Program = Awaited<ReturnType<typeof startProgram>>;

/** Starts `command` in the project folder. */
export async function startProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
) {
  recordSecretVariables(env);
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  const here = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const child = spawn(command, args, {
    cwd: ROOT,
    // From Node 22 onwards, npm would leave a compile cache in the folder, where tests check for leftover files.
    env: { ...here, TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  let heard = createDeferred<void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      heard.resolve();
      heard = createDeferred();
    });
  }
  const exit = once(child, 'close') as Promise<[number | null]>;
  // A killed program may leave an incomplete last line.
  child.once('close', () => recordLogLines(output.slice(0, output.lastIndexOf('\n') + 1)));

  /**
   * Sends a signal to the program and its children, as Ctrl-C does in a terminal. The program leads its own process group, so its
   * children get the signal even after npm has ended.
   */
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid ?? 0), signal);
    } catch {
      // all processes have ended
    }
  };

  return {
    child,
    folder,
    /** Returns the complete lines printed so far. */
    lines: () => output.split('\n').slice(0, -1),
    /** Resolves with the first match in the output. Rejects if the program ends without a match. */
    async waitForOutput(pattern: RegExp): Promise<RegExpExecArray> {
      let isOver = false;
      for (;;) {
        const match = pattern.exec(output);
        if (match !== null) return match;
        if (isOver) throw new Error(`ended without printing ${String(pattern)}:\n${output}`);
        isOver = await Promise.race([exit.then(() => true), heard.promise.then(() => false)]);
      }
    },
    signalGroup,
    /** Resolves with the exit code and all output. */
    async waitForExit() {
      const [code] = await exit;
      return { code, output };
    },
    /** Resolves with the command lines of running processes that mention the program's folder. */
    leftovers: async () => commandLinesWith(folder),
    async [Symbol.asyncDispose]() {
      signalGroup('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function commandLinesWith(text: string): Promise<string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    ids.map(async (id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.filter((line) => line.includes(text)).map((line) => line.replaceAll('\0', ' ').trim());
}
