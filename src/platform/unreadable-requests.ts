import { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { isDroppingRest } from './early-answers.ts';
import { AppError } from './errors.ts';
import { endWithThisAnswer, isEnding } from './lingering-close.ts';
import { sendProblem } from './problem.ts';
import { badRequest, tooManyHeaders } from './request-framing.ts';
import type { RequestLog } from './request-log.ts';

const TOO_SLOW = 'ERR_HTTP_REQUEST_TIMEOUT';

interface UnreadableOptions {
  readonly requests: RequestLog;
  /** The last answer that is due on a connection. */
  readonly lastDue: (socket: Socket) => ServerResponse | undefined;
  /** What an answer says beside the problem: to one that was due, or where nobody knows what was asked, to a new one. */
  readonly headersOf: (res: ServerResponse) => Readonly<Record<string, string>>;
}

/**
 * Answers what Node's parser gives up on, or what takes too long to come in, in words, and closes the connection. Never
 * in the middle of another answer, and never before one that is due.
 */
export function answerUnreadable(server: Server, { requests, lastDue, headersOf }: UnreadableOptions): void {
  const send = (res: ServerResponse, fault: AppError) => {
    if (!res.headersSent) res.setHeaders(new Map(Object.entries(headersOf(res))));
    sendProblem(res, fault);
  };

  /** Answers what never became a request. */
  const answerAlone = (socket: Socket, fault: AppError) => {
    if (!socket.writable) return; // it is closing
    const req = new IncomingMessage(socket);
    const res = new ServerResponse(req);
    requests.begin(req, res, '');
    res.assignSocket(socket);
    res.once('finish', () => {
      res.detachSocket(socket);
      res.emit('close');
      socket.destroySoon();
    });
    send(res, fault);
  };

  const answerInTurn = (socket: Socket, fault: AppError) => {
    const due = lastDue(socket);
    endWithThisAnswer(socket);
    if (isDroppingRest(socket))
      socket.destroySoon(); // it has had its answer
    else if (due === undefined) answerAlone(socket, fault);
    else if (due.req.complete) due.once('close', () => answerAlone(socket, fault));
    else if (due.writableEnded) due.once('close', () => socket.destroySoon());
    else send(due, fault); // which cuts off an answer that has begun
  };

  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    const fault = toFault(error.code);
    const isBody = lastDue(socket)?.req.complete === false;
    const hasLeft = error.code === 'HPE_INVALID_EOF_STATE' && isBody;
    if (fault === null || !socket.writable || hasLeft) socket.destroy();
    // Where it is ending, what can't be read is what nobody takes up any more, unless it belongs to the last request.
    else if (!isEnding(socket) || isBody || error.code === TOO_SLOW) answerInTurn(socket, fault);
  });

  server.on('connect', (_req, stream) => {
    const socket = stream as Socket;
    socket.on('error', () => socket.destroy()); // Node hands the socket over, and with it its errors
    if (!isEnding(socket)) answerInTurn(socket, noTunnels());
  });
}

function toFault(code = ''): AppError | null {
  if (code === TOO_SLOW) return requestTimeout();
  if (code === 'HPE_HEADER_OVERFLOW') return tooManyHeaders('Its head is too large.');
  return code.startsWith('HPE_') ? badRequest() : null; // else it is the connection that broke
}

function requestTimeout(): AppError {
  return new AppError(408, 'request_timeout', 'The request took too long to come in', {
    headers: { connection: 'close' },
  });
}

function noTunnels(): AppError {
  return new AppError(405, 'method_not_allowed', 'CONNECT is not allowed', {
    headers: { connection: 'close' },
  });
}
