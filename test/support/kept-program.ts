import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './programs.ts';

/** The shell ends the program when the pipe on its standard input closes: because we asked for it, or ended in any way. */
const KEEPER = `
  exec 3<&0
  "$@" </dev/null 3<&- 2>&1 &
  pid=$!
  { cat >/dev/null; kill "$pid" 2>/dev/null; } <&3 >/dev/null 2>&1 &
  exec 3<&-
  wait "$pid"
`;

/** A foreign program in a process of its own. */
export interface KeptProgram extends AsyncDisposable {
  /** What it has printed so far, on either stream. */
  printed(): string;
}

/** Starts a program that ends with us, and resolves once `isUp` is true; rejects where it ends before. */
export async function startKeptProgram(
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
  isUp: () => Promise<boolean>,
): Promise<KeptProgram> {
  const keeper: ChildProcess = spawn('sh', ['-c', KEEPER, `${command[0]}-keeper`, ...command], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  let printed = '';
  keeper.stdout?.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const exited = once(keeper, 'close');
  const end = async () => {
    keeper.stdin?.end();
    await exited;
  };
  try {
    await eventually(async () => {
      if (keeper.exitCode !== null) throw new Error(`${command[0]} did not start:\n${printed}`);
      return isUp();
    });
  } catch (error) {
    await end();
    throw error;
  }
  return { printed: () => printed, [Symbol.asyncDispose]: end };
}
