import type { Logger } from './observability/logger.ts';

/**
 * Ends a process with 1 on an error that nobody has caught: its state is unknown. By itself Node would print the error with all its
 * members, and those of an error of Redis hold the command that failed, `AUTH` with its password too; a log reduces it.
 */
export function endOnUncaught(self: NodeJS.Process, log: Logger): void {
  const end = (error: unknown) => {
    log.fatal({ err: error }, 'uncaught error');
    self.exit(1);
  };
  self.on('uncaughtException', end);
  self.on('unhandledRejection', end);
}

/**
 * Logs Node's warnings. Node would print them on standard error, where a log collector finds text instead of JSON. Their
 * messages may quote an address with its query, so only their name and code are logged.
 */
export function logWarnings(self: NodeJS.Process, log: Logger): void {
  self.removeAllListeners('warning'); // Node's own, which prints
  self.on('warning', (warning: NodeJS.ErrnoException) => {
    log.warn({ warning: warning.name, code: warning.code }, 'node warning');
  });
}
