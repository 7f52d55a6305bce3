import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { endWithThisAnswer, isEnding } from './lingering-close.ts';

/** What is left of a smaller body is read, so that its connection goes on: that is cheaper than a new one. */
const SMALL_BYTES = 64 * 1024;

/** Connections on which the rest of an answered request is still coming in. */
const dropping = new WeakSet<Socket>();

/** Whether what comes on a connection belongs to a request that has had its answer. */
export function isDroppingRest(socket: Socket): boolean {
  return dropping.has(socket);
}

/**
 * Prepares a request for an answer that comes before all of its body is here. Such an answer to a large body closes the
 * connection, and says so; the rest of a small one is dropped as it comes, for at most `withinMs`.
 */
export function expectEarlyAnswer(req: IncomingMessage, res: ServerResponse, withinMs: number): void {
  const { 'content-length': length = 0, 'transfer-encoding': encoding } = req.headers;
  const bytes = encoding === undefined ? Number(length) : Infinity;
  if (bytes === 0) return;
  if (bytes > SMALL_BYTES) closeWithAnswer(req, res, () => !req.complete);
  res.once('close', () => {
    if (!req.complete && !req.socket.destroyed && !isEnding(req.socket)) dropRest(req, withinMs);
  });
}

/**
 * Answers `Expect: 100-continue` (RFC 9110 §10.1.1) when somebody begins to read the body: who is refused by the head is
 * not asked to send it. Another expectation is a request like any other, for judgeFraming() to refuse.
 */
export function continueWhenRead(server: Server): void {
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    req.once('resume', () => !res.headersSent && res.writeContinue());
    server.emit('request', req, res);
  });
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    server.emit('request', req, res),
  );
}

/**
 * Answers a request for an upgrade (RFC 9110 §7.8) as if it had asked for none, and closes the connection: Node loses
 * what came in one packet behind it, so nobody knows where the next one begins.
 */
export function declineUpgrade(req: IncomingMessage, res: ServerResponse): void {
  if (req.headers.upgrade === undefined) return;
  endWithThisAnswer(req.socket);
  closeWithAnswer(req, res, () => true);
}

/** Whoever answers, in whatever way: it is decided as the head is written. */
function closeWithAnswer(req: IncomingMessage, res: ServerResponse, isDue: () => boolean): void {
  const writeHead = res.writeHead.bind(res) as (...head: unknown[]) => ServerResponse;
  res.writeHead = (...head: unknown[]) => {
    if (isDue() && !res.headersSent) {
      endWithThisAnswer(req.socket);
      const headers = head.at(-1);
      if (Array.isArray(headers)) head[head.length - 1] = [...(headers as unknown[]), 'connection', 'close'];
      else res.setHeader('connection', 'close');
    }
    return writeHead(...head);
  };
}

/** Reads what nobody wants any more; ends the connection where that takes too long. */
function dropRest(req: IncomingMessage, withinMs: number): void {
  const { socket } = req;
  dropping.add(socket);
  const tooLate = setTimeout(() => socket.destroy(), withinMs);
  const done = () => {
    clearTimeout(tooLate);
    dropping.delete(socket);
    socket.off('close', done);
  };
  // A request that is answered hears no more of its socket's end.
  socket.once('close', done);
  req.once('close', done);
  req.resume();
}
