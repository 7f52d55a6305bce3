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

/** Of lines that are written as they stand. */
export type LineLevel = 'debug' | 'info';

/**
 * Writes a line that is as the log itself would have made it, for what is logged with each request: pino takes several times as
 * long to make one (docs/decisions/0023). For a log of createLog() that is enabled for the line's level.
 */
export function writeLine(log: Logger, line: string): void {
  const { [pino.symbols.streamSym]: lines } = log as unknown as Record<symbol, DestinationStream>;
  if (lines === undefined) {
    const { level, time: _time, msg, ...members } = JSON.parse(line) as Record<string, unknown>;
    log[level as LineLevel](members, String(msg));
  } else lines.write(line);
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
    message: toLoggedMessage(error),
    ...(code !== undefined && { code }),
    ...(error.stack !== undefined && depth === 0 && { stack: framesOf(error) }),
    ...(error.cause !== undefined && depth < 3 && { cause: toLoggedError(error.cause, depth + 1) }),
  };
}

/**
 * What may be told of an error. Parsers quote what they could not read, and Redis the command that it refused: `AUTH` with its
 * password, too. Of its answers only the word at the beginning is told, e.g. `WRONGPASS`.
 */
export function toLoggedMessage(error: Error): string {
  if (error instanceof SyntaxError) return 'malformed input';
  if (error.name === 'ReplyError')
    return `Redis answered ${/^[A-Z]+\b/.exec(error.message)?.[0] ?? 'an error'}`;
  return error.message.replace(/Last error: .*/s, 'Last error: see the log of the Sentinels');
}

/** Where it came from: a stack begins with the message, of however many lines. */
function framesOf({ message, stack = '' }: Error): string {
  const at = stack.indexOf(message);
  const behind = at < 0 ? stack : stack.slice(at + message.length);
  return behind
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}
