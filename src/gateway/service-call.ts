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

/** Sends one request. Follows no redirect, repeats nothing, takes no encoding off. */
export function callService(client: ServiceClient, request: ServiceRequest): ServiceCall {
  const { promise: answer, resolve, reject } = createDeferred<ServiceAnswer>();
  const { promise: ended, resolve: end, reject: fail } = createDeferred<void>();
  ended.catch(() => {}); // nobody listens where the answer was refused before its body
  let controller: Dispatcher.DispatchController | null = null;
  let aborted = false;
  let onChunk: (chunk: Buffer) => void = () => {};

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started;
      if (aborted) started.abort(new CallAbortedError());
    },
    onResponseStart(started, status) {
      if (status < 200) return;
      started.pause();
      const headers = toRawHeaders(started.rawHeaders);
      const pipe = async (res: ServerResponse) => {
        onChunk = (chunk) => {
          if (res.write(chunk)) return;
          started.pause();
          res.once('drain', () => started.resume());
        };
        started.resume();
        await ended;
      };
      resolve({ status, headers, pipe, discard: () => started.abort(new CallAbortedError()) });
    },
    onResponseData: (_controller, chunk) => onChunk(chunk),
    onResponseEnd: () => end(),
    onResponseError(_controller, error) {
      const cause = isOurs(error) ? error : new ServiceCallError(error);
      reject(cause);
      fail(cause);
    },
  };
  client.dispatch(
    {
      path: request.target,
      method: request.method,
      headers: request.headers,
      body: request.body,
    },
    handler,
  );
  return {
    answer,
    abort() {
      aborted = true;
      controller?.abort(new CallAbortedError());
    },
  };
}

/** Ours: the browser has left, or the answer is not wanted any more. */
export class CallAbortedError extends Error {
  override readonly name = 'CallAbortedError';
}

/** The service could not be reached, was too slow, or answered what is not HTTP. */
export class ServiceCallError extends Error {
  override readonly name = 'ServiceCallError';
  /** undici's or the system's name for it. */
  readonly code: string;

  constructor(cause: Error) {
    super('the call to the service failed', { cause });
    this.code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  }
}

function isOurs(error: Error): boolean {
  return (
    error instanceof CallAbortedError ||
    error instanceof BodyTooLargeError ||
    error instanceof BodyStalledError
  );
}

function toRawHeaders(raw: Dispatcher.DispatchController['rawHeaders']): RawHeaders {
  return Array.isArray(raw)
    ? raw.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
    : [];
}
