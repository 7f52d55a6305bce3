import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { createDeferred } from '../platform/deferred.ts';
import type { ServiceClient } from '../platform/service-client.ts';
import type { RawHeaders } from './headers.ts';
import { BodyStalledError, BodyTooLargeError } from './request-body.ts';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query, exactly as they came. */
  readonly target: string;
  readonly headers: string[];
  readonly body: Readable | Buffer | null;
}

/** The service's answer, stopped behind its headers until it is told where its body goes. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  /** Lets the body flow to the browser, no faster than it reads. Rejects where the service cuts it off. */
  pipe(res: ServerResponse): Promise<void>;
  /** Ends the call: the body is not wanted. */
  discard(): void;
}

/** One call of the service. */
export interface ServiceCall {
  /**
   * The answer, once its headers are here; early hints and other 1xx are left out. Rejects with ServiceCallError, or
   * with what went wrong on the browser's side.
   */
  readonly answer: Promise<ServiceAnswer>;
  /** Ends the call wherever it is. */
  abort(): void;
}

/**
 * Sends one request. Follows no redirect, repeats nothing, takes no encoding off. `timeoutMs` bounds the wait for a
 * connection, for the answer's headers from the request fully sent, and for a browser that does not read on; each
 * fails with a ServiceTimeoutError. undici bounds the silence of the service in the middle of its answer.
 */
export function callService(client: ServiceClient, request: ServiceRequest, timeoutMs: number): ServiceCall {
  const { promise: answer, resolve, reject } = createDeferred<ServiceAnswer>();
  const { promise: ended, resolve: end, reject: fail } = createDeferred<void>();
  ended.catch(() => {}); // nobody listens where the answer was refused before its body
  let controller: Dispatcher.DispatchController | null = null;
  let abortedFor: Error | null = null;
  let isOver = false;
  let onChunk: (chunk: Buffer) => void = () => {};

  let patience: NodeJS.Timeout | undefined;

  const abort = (reason: Error) => {
    abortedFor ??= reason;
    isOver = true;
    clearTimeout(patience);
    controller?.abort(abortedFor);
    reject(abortedFor); // one that still waits for a connection is not under way yet
  };
  // Our own clock: undici's begins anew with each 1xx, and not before there is a connection.
  const waitAgain = () => {
    clearTimeout(patience);
    patience = setTimeout(() => abort(new ServiceTimeoutError()), timeoutMs);
  };
  waitAgain();

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (abortedFor !== null) {
        started.abort(abortedFor);
        return;
      }
      waitAgain();
      if (request.body === null || Buffer.isBuffer(request.body)) return;
      // Until it is sent, the silence of either side is what counts: the browser's (request-body.ts), the service's
      // (undici's clock runs while it does not read).
      clearTimeout(patience);
      request.body.once('end', () => !isOver && waitAgain());
    },
    onResponseStart(started, status) {
      if (status < 200) return;
      isOver = true;
      clearTimeout(patience);
      started.pause();
      const headers = toRawHeaders(started.rawHeaders);
      const pipe = async (res: ServerResponse) => {
        onChunk = (chunk) => {
          if (!res.write(chunk))
            resumeWhenRead(started, res, () => abort(new ServiceTimeoutError()), timeoutMs);
        };
        started.resume();
        await ended;
      };
      resolve({ status, headers, pipe, discard: () => abort(new CallAbortedError()) });
    },
    onResponseData: (_controller, chunk) => onChunk(chunk),
    onResponseEnd: () => end(),
    onResponseError(_controller, error) {
      isOver = true;
      clearTimeout(patience);
      const cause = isOurs(error) ? error : new ServiceCallError(error);
      reject(cause);
      fail(cause);
    },
  };
  const { method, target: path, headers, body } = request;
  client.dispatch({ path, method, headers, body }, handler);
  return { answer, abort: () => abort(new CallAbortedError()) };
}

/** Holds the service's answer back until the browser has read on, or gives up on it. */
function resumeWhenRead(
  controller: Dispatcher.DispatchController,
  res: ServerResponse,
  giveUp: () => void,
  withinMs: number,
): void {
  controller.pause();
  const tooSlow = setTimeout(giveUp, withinMs);
  const goOn = () => {
    clearTimeout(tooSlow);
    res.off('drain', goOn).off('close', goOn);
    if (!res.destroyed) controller.resume();
  };
  res.once('drain', goOn).once('close', goOn);
}

/** Ours: the browser has left, or the answer is not wanted any more. */
export class CallAbortedError extends Error {
  override readonly name = 'CallAbortedError';
}

/** Out of time by our own clock. */
export class ServiceTimeoutError extends Error {
  override readonly name = 'ServiceTimeoutError';
}

/** The service could not be reached, was too slow, or answered what is not HTTP. */
export class ServiceCallError extends Error {
  override readonly name = 'ServiceCallError';

  constructor(cause: Error) {
    super('the call to the service failed', { cause });
  }
}

const OURS = [CallAbortedError, ServiceTimeoutError, BodyTooLargeError, BodyStalledError];

function isOurs(error: Error): boolean {
  return OURS.some((known) => error instanceof known);
}

function toRawHeaders(raw: Dispatcher.DispatchController['rawHeaders']): RawHeaders {
  return Array.isArray(raw)
    ? raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
    : [];
}
