import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

export interface Logger extends PinoLogger {
  /**
   * Writes fields as the line that pino would write, for three quarters of the CPU time. Every request writes one
   * (docs/decisions/0010). Leaves out what is undefined.
   */
  writeLine(level: 'debug' | 'info', fields: LineFields): void;
}

/** Plain values only, because writeLine() reduces no errors. `msg` names the event. */
type LineFields = Readonly<Record<string, string | number | boolean | undefined>> & { readonly msg: string };

/**
 * Creates a log of JSON lines on standard output (or `destination`). Reduces errors to type, message, code and stack, because
 * their other members may hold requests, responses or tokens.
 */
export function createLog(level: string, destination: DestinationStream = standardOutput()): Logger {
  const options = {
    level,
    base: null,
    messageKey: 'msg',
    serializers: { err: (error: unknown) => toLoggedError(error) },
    formatters: { level: (label: string) => ({ level: label }) },
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

function standardOutput(): DestinationStream {
  return pino.destination({ dest: 1, sync: true });
}

const MAX_BUFFERED_CHARACTERS = 8 * 1024;

/**
 * Writes the lines of one turn of the event loop to standard output (or `output`) at once. A write costs as much as making the
 * line. A process that is killed loses the lines of its last turn.
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
    /** Writes what is buffered; for the end of the process. */
    flush,
    write(line: string): void {
      buffered += line;
      if (buffered.length >= MAX_BUFFERED_CHARACTERS) flush();
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(flushScheduled);
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
    ...(error.stack !== undefined && depth === 0 && { stack: framesOf(error) }),
    ...(error.cause !== undefined && depth < 3 && { cause: toLoggedError(error.cause, depth + 1) }),
  };
}

/**
 * Returns a message without secrets. Parsers quote their input. Redis quotes the refused command, such as `AUTH` with its
 * password. A Redis error keeps only its first word, such as `WRONGPASS`.
 */
export function toLoggableMessage(error: Error): string {
  if (error instanceof SyntaxError) return 'malformed input';
  if (error.name === 'ReplyError')
    return `Redis replied ${/^[A-Z]+\b/.exec(error.message)?.[0] ?? 'an error'}`;
  return error.message.replace(/Last error: .*/s, 'Last error: see the log of the Sentinels');
}

/** Returns the stack without the message at its start, which may have several lines. */
function framesOf({ message, stack = '' }: Error): string {
  const at = stack.indexOf(message);
  const frames = at < 0 ? stack : stack.slice(at + message.length);
  return frames
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}
