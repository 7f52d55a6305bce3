import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ConnectionPool, PooledHandler } from '../upstream/connection-pool.ts';
import type { RawHeaders } from './headers.ts';
import { BodyStalledError, BodyTooLargeError } from './request-body.ts';
import { CallAbortedError, ServiceCallError, ServiceTimeoutError } from './service-call-errors.ts';

export interface ServiceRequest {
  readonly method: string;
  /** Path and query, exactly as they came. */
  readonly target: string;
  readonly headers: string[];
  readonly body: Readable | Buffer | null;
}

/** The head of the service's answer. */
export interface ServiceAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  /** Why no more of it comes, where it broke off before anybody took it: its head must not be passed on then. */
  readonly failure: Error | null;
  /**
   * Lets the body flow to the browser, no faster than it reads; its head has been written. Until somebody calls it the
   * answer waits.
   */
  deliver(res: ServerResponse): void;
  /** Ends the call: the body is not wanted. */
  discard(): void;
}

/** Who hears of a call; each is called at most once, `onEnd` or `onFailure` last. */
export interface AnswerReceiver {
  /** The head is here. Early hints and other 1xx are left out. What it throws fails the call. */
  onAnswer(answer: ServiceAnswer): void;
  /** The body has been delivered whole. */
  onEnd(): void;
  /** ServiceCallError, ServiceTimeoutError, or what went wrong on the browser's side. */
  onFailure(error: Error): void;
}

/** One call of the service. */
export interface ServiceCall {
  /** Ends the call wherever it is. */
  abort(): void;
}

/**
 * Sends one request. Follows no redirect, repeats nothing, takes no encoding off. `timeoutMs` bounds the wait for a
 * connection, then for some of the body to be taken, and for the answer's headers from the request fully sent; each
 * fails with a ServiceTimeoutError. undici bounds the silence of the service in the middle of its answer.
 *
 * The receiver is called as the answer's bytes are read, with no promise between: an answer that came in one piece
 * leaves in one.
 */
export function callService(
  client: ConnectionPool,
  request: ServiceRequest,
  timeoutMs: number,
  receiver: AnswerReceiver,
): ServiceCall {
  const call = new DispatchedCall(client, request.body, timeoutMs, receiver);
  call.send(request);
  return call;
}

/** All that undici 7 calls of it; its types say of none that it must be there. */
type OlderHandler = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>;

/**
 * A call as undici hears of it, and its answer. A class as undici's own handlers are: with a closure for each method a
 * call cost a tenth more memory. Its methods are those of undici's older kind of handler: for the newer one undici parses
 * all headers of an answer into an object, which nobody here looks at (docs/decisions/0023).
 */
class DispatchedCall implements OlderHandler, PooledHandler, ServiceCall, ServiceAnswer {
  status = 0;
  headers: RawHeaders = [];
  failure: Error | null = null;
  readonly #client: ConnectionPool;
  readonly #body: ServiceRequest['body'];
  readonly #receiver: AnswerReceiver;
  /** Our own clock: undici's begins anew with each 1xx, and not before there is a connection. */
  readonly #patience: NodeJS.Timeout;
  /** undici's way to end the request; null until it has a connection. */
  #abortRequest: ((reason: Error) => void) | null = null;
  /** undici's way to go on with an answer that was held back. */
  #resumeAnswer: (() => void) | null = null;
  #isPaused = false;
  #abortedFor: Error | null = null;
  #deliverTo: ServerResponse | null = null;
  #isDispatching = true;
  #isAnswered = false;
  #hasWritten = false;
  #isBodiless = false;
  #isWhole = false;
  #isOver = false;

  constructor(
    client: ConnectionPool,
    body: ServiceRequest['body'],
    timeoutMs: number,
    receiver: AnswerReceiver,
  ) {
    this.#client = client;
    this.#body = body;
    this.#receiver = receiver;
    this.#patience = setTimeout(DispatchedCall.#giveUp, timeoutMs, this);
  }

  send({ method, target: path, headers, body }: ServiceRequest): void {
    this.#client.dispatch({ path, method, headers, body }, this);
    this.#isDispatching = false;
  }

  abort(): void {
    this.#abortFor(new CallAbortedError());
  }

  discard(): void {
    this.abort();
  }

  deliver(res: ServerResponse): void {
    this.#deliverTo = res;
    if (this.#isWhole) {
      this.#succeed();
      return;
    }
    process.nextTick(DispatchedCall.#sendHead, this);
    this.#resume();
  }

  onConnect(abort: (reason: Error) => void): void {
    this.#abortRequest = abort;
    if (this.#abortedFor !== null) {
      abort(this.#abortedFor);
      return;
    }
    if (!this.#isDispatching) this.#patience.refresh(); // it has waited for a connection
    const body = this.#body;
    if (body === null || Buffer.isBuffer(body)) return;
    // Until it is sent, what counts is that some of it is: a browser that stops sending is found out first
    // (request-body.ts), so that this is the service, which does not read.
    body.on('data', () => {
      if (!this.#isAnswered && !this.#isOver) this.#patience.refresh();
    });
  }

  onHeaders(status: number, rawHeaders: readonly Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    this.#isAnswered = true;
    this.#isBodiless = status === 204 || status === 304;
    clearTimeout(this.#patience);
    this.status = status;
    this.headers = rawHeaders.map((part) => part.toString('latin1'));
    this.#resumeAnswer = resume;
    try {
      this.#receiver.onAnswer(this);
    } catch (error) {
      this.#abortFor(error instanceof Error ? error : new Error('not an Error', { cause: error }));
      return true;
    }
    this.#isPaused = this.#deliverTo === null && !this.#isOver;
    return !this.#isPaused;
  }

  onData(chunk: Buffer): boolean {
    if (chunk.length === 0) return true; // what undici finds at the end of a connection; nothing may pause it there
    const res = this.#deliverTo;
    this.#hasWritten = true;
    if (res?.write(chunk) === false) this.#pauseUntilRead(res);
    return !this.#isPaused;
  }

  onComplete(): void {
    this.#succeed();
  }

  onError(error: Error): void {
    // undici waits for as many bytes as its Content-Length tells, which is what a 200 would have (RFC 9110 §8.6).
    if (this.#isBodiless && 'code' in error && error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
      this.#succeed();
      return;
    }
    this.#fail(isOurs(error) ? error : new ServiceCallError(error));
  }

  /** What waits for the browser goes out to it; of a 401 that waits for a token, only the end can have been missing. */
  onServiceClosed(): void {
    this.#resume();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#resumeAnswer?.();
  }

  /**
   * Pauses the service's response until the browser has read some of it. A browser that never does is disconnected
   * (http/connection.ts), and the gateway aborts the request with the response.
   */
  #pauseUntilRead(res: ServerResponse): void {
    this.#isPaused = true;
    res.once('drain', () => this.#resume());
  }

  #succeed(): void {
    if (this.#isOver) return;
    if (this.#deliverTo === null) {
      this.#isWhole = true; // there is nothing in it to wait with, as in an answer to HEAD
      return;
    }
    this.#isOver = true;
    this.#receiver.onEnd();
  }

  #fail(error: Error): void {
    clearTimeout(this.#patience);
    if (this.#isOver) return;
    this.#isOver = true;
    this.failure = error;
    this.#receiver.onFailure(error);
  }

  #abortFor(reason: Error): void {
    this.#abortedFor ??= reason;
    if (this.#abortRequest === null)
      this.#client.cancel(this); // it still waits for a connection
    else this.#abortRequest(this.#abortedFor);
    this.#fail(this.#abortedFor);
  }

  static #giveUp(this: void, call: DispatchedCall): void {
    call.#abortFor(new ServiceTimeoutError());
  }

  /** Not flushHeaders(): that writes the head as UTF-8, and its bytes would change. */
  static #sendHead(this: void, call: DispatchedCall): void {
    if (!call.#hasWritten && !call.#isOver) call.#deliverTo?.write(NOTHING);
  }
}

const NOTHING = Buffer.alloc(0);

const OURS = [CallAbortedError, ServiceTimeoutError, BodyTooLargeError, BodyStalledError];

function isOurs(error: Error): boolean {
  return OURS.some((known) => error instanceof known);
}
