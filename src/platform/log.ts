import { pino } from 'pino';
import type { DestinationStream, Logger } from 'pino';

export type { Logger };

/**
 * JSON lines on standard output (or `destination`). Errors are reduced to type, message, code and stack: their
 * other members may hold requests, answers or tokens, and are never written.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    messageKey: 'msg',
    serializers: { err: (error: unknown) => toLoggedError(error) },
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

/**
 * Writes the line that `log.info(members, message)` would, for what is logged with each request: pino takes twice as much
 * of a call for it (docs/decisions/0023). No member may be an error. For a log of createLog() that is enabled for `info`.
 */
export function writeInfoLine(log: Logger, members: object, message: string): void {
  const { [pino.symbols.streamSym]: lines } = log as unknown as Record<symbol, DestinationStream>;
  if (lines === undefined) log.info(members, message);
  else lines.write(`${JSON.stringify({ level: 'info', time: Date.now(), ...members, msg: message })}\n`);
}

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** What a log line says of an error, three causes deep. */
function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an Error' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    type: error.name,
    // The parser's message quotes what it could not read.
    message: error instanceof SyntaxError ? 'malformed input' : error.message,
    ...(code !== undefined && { code }),
    ...(error.stack !== undefined && depth === 0 && { stack: error.stack }),
    ...(error.cause !== undefined && depth < 3 && { cause: toLoggedError(error.cause, depth + 1) }),
  };
}
