import { closeSync, openSync } from 'node:fs';

/** SIGHUP, which asks a running process to read again what may have changed. */
export interface HangUps {
  /** What is done each time, one after the other; also for a signal that has come before this. It must not reject. */
  answer(task: () => Promise<void>): void;
  /** From now on it means nothing. */
  ignore(): void;
}

/**
 * Takes SIGHUP, by which a process would end. One whose terminal was closed still does: then it is no question, but the
 * end of whoever could have asked.
 */
export function takeHangUps(self: NodeJS.Process): HangUps {
  const hadTerminal = hasTerminal();
  let asked = 0;
  let task: (() => Promise<void>) | null = null;
  let done = Promise.resolve();

  const go = () => {
    if (task === null) return;
    for (; asked > 0; asked -= 1) done = done.then(task);
  };
  const onHangUp = () => {
    if (hadTerminal && !hasTerminal()) {
      self.off('SIGHUP', onHangUp);
      self.kill(self.pid, 'SIGHUP'); // nobody listens any more: it does what it does by default
      return;
    }
    asked += 1;
    go();
  };
  self.on('SIGHUP', onHangUp);

  return {
    answer(given) {
      task = given;
      go();
    },
    ignore() {
      task = async () => {};
    },
  };
}

/** Whether somebody started us by hand, and is still there. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
