import { closeSync, openSync } from 'node:fs';
import { StartupError } from './errors.ts';
import type { Logger } from './observability/logger.ts';

/** Runs a program and returns its exit code. After a StartupError, prints the message to standard error and returns 1. */
export async function exitCodeOf(program: () => Promise<number>): Promise<number> {
  try {
    return await program();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
}

/** A second signal within this time (ms) is ignored, because npm forwards signals that the terminal sends to both processes. */
const ECHO_MS = 300;

/** Resolves with the first of `signals` to arrive. A second signal ends the process immediately. */
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
        self.kill(self.pid, signal); // without a listener, the default action applies
      }
    };
    for (const signal of signals) self.on(signal, onSignal);
  });
}

/**
 * Exits with code 1 on an uncaught error, because the state of the process is then unknown. Logs the error first. Unlike Node,
 * the logger omits error properties, such as the failed Redis command, which may contain a password.
 */
export function exitOnUncaughtErrors(self: NodeJS.Process, log: Logger): void {
  const exit = (error: unknown) => {
    log.fatal({ err: error }, 'uncaught error');
    self.exit(1);
  };
  self.on('uncaughtException', exit);
  self.on('unhandledRejection', exit);
}

/**
 * Logs only the name and code of Node's warnings, because a message may contain a URL with its query. Node's own listener would
 * print warnings to standard error, where a log collector expects JSON.
 */
export function logWarnings(self: NodeJS.Process, log: Logger): void {
  self.removeAllListeners('warning');
  self.on('warning', (warning: NodeJS.ErrnoException) => {
    log.warn({ warning: warning.name, code: warning.code }, 'node warning');
  });
}

export type Sighup = ReturnType<typeof catchSighup>;

/** Catches SIGHUP and uses it to reload the secrets. A SIGHUP from a closed terminal still ends the process. */
export function catchSighup(self: NodeJS.Process) {
  const hadTerminal = hasTerminal();
  let signals = 0;
  let task: (() => Promise<void>) | null = null;
  let done = Promise.resolve();

  const runTasks = () => {
    if (task === null) return;
    for (; signals > 0; signals -= 1) done = done.then(task);
  };
  const onSighup = () => {
    if (hadTerminal && !hasTerminal()) {
      self.off('SIGHUP', onSighup);
      self.kill(self.pid, 'SIGHUP'); // without a listener, the signal ends the process
      return;
    }
    signals += 1;
    runTasks();
  };
  self.on('SIGHUP', onSighup);

  return {
    /** Runs a task once for each signal, including signals that have already arrived. Runs never overlap. The task must not reject. */
    handle(onSignal: () => Promise<void>): void {
      task = onSignal;
      runTasks();
    },
    /** Ignores further signals. */
    ignore(): void {
      task = async () => {};
    },
  };
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
