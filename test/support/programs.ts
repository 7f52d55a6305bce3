import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDeferred } from '../../src/promises.ts';
import { ROOT } from './constants.ts';
import { keepLines, noteVariables } from './log-audit.ts';

/** A program of the project's in a process of its own, with a folder for temporary files that only it uses. */
export interface Program extends AsyncDisposable {
  readonly child: ChildProcess;
  readonly folder: string;
  /** The whole lines that it has printed so far. */
  lines(): string[];
  /** Resolves with the first match in what it has printed or prints; rejects where it ends without. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Sends a signal to it and to all that it has started, as Ctrl-C in a terminal does. */
  signalGroup(signal: NodeJS.Signals): void;
  /** Resolves with its exit code, and all that it printed. */
  ended(): Promise<{ code: number | null; output: string }>;
  /** Command lines of all living processes that have the folder in theirs. */
  leftovers(): Promise<string[]>;
}

/** Starts `command` in the project's folder. */
export async function startProgram(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<Program> {
  noteVariables(env);
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-test-'));
  const here = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
  const child = spawn(command, args, {
    cwd: ROOT,
    // npm keeps what it has compiled in that folder from Node 22 on: that is none of what we leave behind.
    env: { ...here, TMPDIR: folder, NODE_DISABLE_COMPILE_CACHE: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('it was started without pipes');
  let output = '';
  let heard = createDeferred<void>();
  for (const stream of [stdout, stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      heard.resolve();
      heard = createDeferred();
    });
  }
  const exit = once(child, 'close') as Promise<[number | null]>;
  // One that was killed may have been in the middle of a line.
  child.once('close', () => keepLines(output.slice(0, output.lastIndexOf('\n') + 1)));

  /** It leads a group of its own: what is left of it ends with it, even after npm has gone. */
  const signalGroup = (signal: NodeJS.Signals) => {
    try {
      process.kill(-(child.pid ?? 0), signal);
    } catch {
      // nobody is left
    }
  };

  return {
    child,
    folder,
    lines: () => output.split('\n').slice(0, -1),
    async prints(pattern) {
      let isOver = false;
      for (;;) {
        const match = pattern.exec(output);
        if (match !== null) return match;
        if (isOver) throw new Error(`ended without printing ${String(pattern)}:\n${output}`);
        isOver = await Promise.race([exit.then(() => true), heard.promise.then(() => false)]);
      }
    },
    signalGroup,
    async ended() {
      const [code] = await exit;
      return { code, output };
    },
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
