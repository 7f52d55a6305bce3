/** Beyond that many an error tells no more of its causes, which may go round in circles. */
const MOST_CAUSES = 3;

/**
 * Where an error comes from that nobody has foreseen, for those who can mend it: its type and the places in the code that it went
 * through, and those of its causes. Never its message, which may hold what was sent.
 */
export function whereFrom(error: unknown, causes = MOST_CAUSES): string {
  if (!(error instanceof Error)) return typeof error;
  const hasCause = error.cause !== undefined && causes > 0;
  const cause = hasCause ? `\n  because of ${whereFrom(error.cause, causes - 1)}` : '';
  return [error.name, ...places(error)].join('\n    at ') + cause;
}

/** The message, whose lines may look like places, stands before them; where it is another one now, nobody knows where it ends. */
function places({ stack = '', message }: Error): string[] {
  const at = stack.indexOf(message);
  const behind = at === -1 ? '' : stack.slice(at + message.length);
  return [...behind.matchAll(/^ {4}at (.+)$/gm)].map(([, place = '']) => place);
}
