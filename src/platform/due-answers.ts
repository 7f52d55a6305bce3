import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endWithThisAnswer } from './lingering-close.ts';

/**
 * Answers that are due on a connection at a time. Node hands over all requests that stand in one packet at once, some
 * 2,500 in 64 KiB, and would keep all their answers for a client that reads none.
 */
export const MOST_DUE = 32;

/** Says with the last answer that is due that its connection ends; what comes until then is still answered. */
export function sayLast(due: readonly ServerResponse[]): void {
  const last = due.at(-1);
  if (last?.headersSent === false) last.setHeader('connection', 'close');
}

/** Whether an answer has gone out, or begun to, that said it is the last: whoever reads it closes the connection behind it. */
export function hasSaidLast(due: readonly ServerResponse[]): boolean {
  const last = due.at(-1);
  return last?.headersSent === true && last.getHeader('connection') === 'close';
}

/**
 * Ends a connection with the last answer that is due, and no longer with one before it: what comes behind is not taken
 * up, and the client may ask it again elsewhere (RFC 9112 §9.3.2).
 */
export function makeLast(socket: Socket, due: readonly ServerResponse[]): void {
  const before = due.at(-2);
  if (before?.headersSent === false && before.getHeader('connection') === 'close')
    before.setHeader('connection', 'keep-alive');
  sayLast(due);
  endWithThisAnswer(socket);
}

/** Of the answers on a lost connection Node 20 tells only the one whose turn it is: those behind it would wait for ever. */
export function closeQueued(due: readonly ServerResponse[]): void {
  // A list of its own: each that closes is taken out of the other one.
  for (const res of due.filter(({ socket }) => socket === null)) {
    res.destroy();
    res.emit('close');
  }
}

/** Answers come in turn: it is the first, except where a connection is lost. */
export function takeOut(due: ServerResponse[], res: ServerResponse): void {
  const at = due.indexOf(res);
  if (at >= 0) due.splice(at, 1);
}
