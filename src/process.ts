import { StartupError } from './errors.ts';

/** Runs a program and gives its exit code; a StartupError becomes its words on standard error, and 1. */
export async function exitCodeOf(program: () => Promise<number>): Promise<number> {
  try {
    return await program();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** npm passes a signal on that the terminal has sent to both of us: within this time a second one is its echo. */
const ECHO_MS = 300;

/** Resolves with the first of the signals that comes. A second one ends the process at once. */
export function untilSignal(
  self: NodeJS.Process,
  signals: readonly NodeJS.Signals[],
): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    const onSignal = (signal: NodeJS.Signals) => {
      if (firstAt === null) {
        firstAt = performance.now();
        resolve(signal);
      } else if (performance.now() - firstAt > ECHO_MS) {
        for (const each of signals) self.off(each, onSignal);
        self.kill(self.pid, signal); // nobody listens any more: it does what it does by default
      }
    };
    for (const signal of signals) self.on(signal, onSignal);
  });
}
