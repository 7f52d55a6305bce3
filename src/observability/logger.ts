import { pino, type DestinationStream, type Logger as PinoLogger, type LoggerOptions } from 'pino';
import { AppError } from '../errors.ts';

export interface Logger extends PinoLogger {
  /**
   * Writes the same line as pino would, in three quarters of the CPU time. Every request writes such a line (docs/decisions/0010).
   * Undefined fields are omitted.
   */
  writeLine(level: 'debug' | 'info', fields: LineFields): void;
}

/** Values are never objects, because writeLine() doesn't strip sensitive properties from errors. `msg` names the event. */
type LineFields = Readonly<Record<string, string | number | boolean | undefined>> & { readonly msg: string };

/**
 * Creates a logger that writes JSON lines to standard output (or `destination`). Errors are reduced to type, message, code,
 * stack and cause, because their other properties may contain requests, responses or tokens. An AppError is expected, so its stack is
 * omitted. Warnings and errors that describe an error are limited to one a second of each kind.
 */
export function createLog(level: string, destination: DestinationStream = standardOutput()): Logger {
  const options = {
    level,
    base: null,
    messageKey: 'msg',
    serializers: { err: (error: unknown) => toLoggedError(error) },
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: createLimit(),
  };
  const log = pino(options, destination);
  return Object.assign(log, {
    writeLine(lineLevel: 'debug' | 'info', fields: LineFields): void {
      if (!log.isLevelEnabled(lineLevel)) return;
      const members = JSON.stringify(fields).slice(1);
      destination.write(`{"level":"${lineLevel}","time":${Date.now()},${members}\n`);
    },
  });
}

const WARN = pino.levels.values['warn'] ?? 0;
/** Minimum time between two lines of a kind, in ms. */
const LIMIT_MS = 1_000;

/** Lines with an error that have the same message, and the same problem code or Redis node. A client can choose none of these. */
interface Kind {
  writtenAt: number;
  /** Number of lines left out since then. */
  leftOut: number;
}

/**
 * Limits the warnings and errors that describe an error to one a second of each kind, because in an outage every request fails. Each line
 * states how many were left out before it.
 */
function createLimit(): NonNullable<LoggerOptions['hooks']> {
  const kinds = new Map<string, Kind>();
  return {
    logMethod(args, log, level) {
      const [fields, message, ...rest] = args as unknown as [unknown, string];
      if (level < WARN || !isErrorLine(fields)) {
        log.apply(this, args);
        return;
      }
      const name = [message, fields.code, fields.node].join(' ');
      const { writtenAt, leftOut } = kinds.get(name) ?? { writtenAt: -Infinity, leftOut: 0 };
      const now = performance.now();
      const isLeftOut = now - writtenAt < LIMIT_MS;
      kinds.set(name, isLeftOut ? { writtenAt, leftOut: leftOut + 1 } : { writtenAt: now, leftOut: 0 });
      if (!isLeftOut) log.call(this, { ...fields, ...(leftOut > 0 && { leftOut }) }, message, ...rest);
    },
  };
}

function isErrorLine(fields: unknown): fields is { err: unknown; code?: string; node?: string } {
  return typeof fields === 'object' && fields !== null && 'err' in fields;
}

function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: true });
}

const MAX_BUFFERED_CHARACTERS = 8 * 1024;
/** How long a line may stay in the buffer, in ms. */
const WRITE_WITHIN_MS = 100;

/**
 * Writes lines to standard output (or `output`) in batches, because a write takes more CPU time than building a line. A killed process
 * loses its lines from the last 100 ms. sonic-boom's own buffer is not used: it writes ten times a second even without lines, and
 * `flushSync()` never returns once the reader has closed the pipe.
 */
export function createBufferedOutput(output: DestinationStream = standardOutput()) {
  let buffered = '';
  let isScheduled = false;
  const flush = () => {
    const text = buffered;
    buffered = '';
    if (text !== '') output.write(text);
  };
  const flushScheduled = () => {
    isScheduled = false;
    flush();
  };
  return {
    /** Writes buffered lines. Call this before the process exits. */
    flush,
    write(line: string): void {
      buffered += line;
      if (buffered.length >= MAX_BUFFERED_CHARACTERS) flush();
      if (isScheduled) return;
      isScheduled = true;
      setTimeout(flushScheduled, WRITE_WITHIN_MS).unref();
    },
  };
}

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: 'not an Error' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return {
    type: error.name,
    message: toLoggableMessage(error),
    ...(code !== undefined && { code }),
    ...(depth === 0 &&
      !(error instanceof AppError) &&
      error.stack !== undefined && { stack: framesOf(error) }),
    ...(error.cause !== undefined && depth < MAX_DEPTH && { cause: toLoggedError(error.cause, depth + 1) }),
  };
}

const MAX_DEPTH = 3;
const MAX_SHORT_CAUSE = 80;

/** Returns the code of the innermost cause of an error, or the start of its message. Returns undefined for an error without a cause. */
export function toShortCause({ cause }: AppError): string | undefined {
  if (cause === undefined) return undefined;
  if (!(cause instanceof Error)) return 'not an Error';
  let innermost = cause;
  for (let depth = 1; depth < MAX_DEPTH && innermost.cause instanceof Error; depth += 1)
    innermost = innermost.cause;
  const { code } = innermost as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : toLoggableMessage(innermost).slice(0, MAX_SHORT_CAUSE);
}

/**
 * Returns an error message without secrets. Parsers quote their input, and Redis quotes a refused command, such as `AUTH` with
 * its password. A Redis error is reduced to its first word, such as `WRONGPASS`.
 */
export function toLoggableMessage(error: Error): string {
  if (error instanceof SyntaxError) return 'malformed input';
  if (error.name === 'ReplyError')
    return `Redis replied ${/^[A-Z]+\b/.exec(error.message)?.[0] ?? 'an error'}`;
  if (error.message.includes('enableOfflineQueue')) return 'no connection to Redis';
  return error.message.replace(/Last error: .*/s, 'Last error: see the Sentinel logs');
}

/** Returns the stack without the leading message, which may span several lines. */
function framesOf({ message, stack = '' }: Error): string {
  const at = stack.indexOf(message);
  const frames = at < 0 ? stack : stack.slice(at + message.length);
  return frames
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}
