import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { AppError } from '../errors.ts';
import type { TokenProvider } from '../oauth/refresh/token-provider.ts';
import type { Session } from '../session/record.ts';
import { toServiceErrorCode, type ConnectionPool, type PooledHandler } from '../upstream/connection-pool.ts';
import { RequestAbortedError, type ApiRequest } from './api-request.ts';
import {
  hasUnsupportedCoding,
  toResponseHeaders,
  toUpstreamHeaders,
  withoutContentLength,
  type RawHeaders,
} from './headers.ts';

export interface ProxyDeps {
  readonly upstream: ConnectionPool;
  readonly tokens: TokenProvider;
  /** The value of SERVICE_TIMEOUT_SECONDS, in ms. */
  readonly timeoutMs: number;
  /** Headers for every response, as alternating names and values. */
  readonly responseHeaders: RawHeaders;
  /** Called at most once per request, if the client does not get a complete response from the service. Not called after `abort`. */
  readonly fail: (request: ApiRequest, error: unknown) => void;
}

/**
 * Sends an API request to the service, and the response to the client. Never follows redirects or decodes content. After a 401,
 * refreshes the access token and repeats the request once. Forwards the 401 if the body was too large to keep, or if the token
 * is unexpired and under 30 s old (token-provider.ts).
 */
export function proxyRequest(
  deps: ProxyDeps,
  request: ApiRequest,
  session: Session,
  accessToken: string,
): void {
  if (request.res.destroyed) deps.fail(request, new RequestAbortedError());
  else new UpstreamRequest(deps, request, accessToken, request.body?.stream ?? null, session).send();
}

/** A request that is sent before its session has been read. */
export type EarlyRequest = Pick<UpstreamRequest, 'onSessionRead' | 'abort'>;

/** Sends a request without a body before its session has been read. Holds the response back until `onSessionRead` or `abort` is called. */
export function sendEarly(deps: ProxyDeps, request: ApiRequest, accessToken: string): EarlyRequest {
  const upstream = new UpstreamRequest(deps, request, accessToken, null, 'unread');
  upstream.send();
  return upstream;
}

/** The methods that undici 7 calls. The undici types declare these methods as optional. */
type UndiciHandler = Required<
  Pick<Dispatcher.DispatchHandler, 'onConnect' | 'onHeaders' | 'onData' | 'onComplete' | 'onError'>
>;

/**
 * Progress of the response from the service:
 * - `awaited`: nothing has arrived, except possibly 1xx responses.
 * - `held`: the response, or the error that replaces it, waits for the session or, after a 401, for a new token. If a head has arrived, the
 *   connection to the service is paused.
 * - `head`: the head is being sent to the client.
 * - `body`: the body is being sent to the client.
 * - `ended`: the response is complete, or the request has failed.
 */
type ResponseState = 'awaited' | 'held' | 'head' | 'body' | 'ended';

/**
 * The undici handler for one upstream request. Methods appear in the order in which a request reaches them. This is a class, because
 * closures took 10% more memory.
 *
 * Implements undici's older handler API, because the newer API parses all response headers into an object that the gateway doesn't need
 * (docs/decisions/0001). Responses are forwarded without promises, so a response that arrives in one packet leaves in one packet.
 */
class UpstreamRequest implements UndiciHandler, PooledHandler {
  readonly #deps: ProxyDeps;
  readonly #request: ApiRequest;
  readonly #accessToken: string;
  readonly #body: Readable | Buffer | null;
  readonly #isEarly: boolean;
  /** Null for the second attempt, so that a second 401 is sent to the client. */
  #session: Session | 'unread' | null;
  /** Limits the wait for the response. undici's own timer starts only once there is a connection and restarts on each 1xx. */
  readonly #timer: NodeJS.Timeout;
  #state: ResponseState = 'awaited';
  #status = 0;
  #headers: RawHeaders = [];
  /** How the held-back response ended; null until it has ended. */
  #heldEnd: 'complete' | Error | null = null;
  #isPaused = false;
  #sentAt = 0;
  /** Functions from undici that abort the request and resume a paused response. */
  #abortRequest: ((reason: Error) => void) | null = null;
  #resumeResponse: (() => void) | null = null;

  constructor(
    deps: ProxyDeps,
    request: ApiRequest,
    accessToken: string,
    body: Readable | Buffer | null,
    session: Session | 'unread' | null,
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#accessToken = accessToken;
    this.#body = body;
    this.#session = session;
    this.#isEarly = session === 'unread';
    this.#timer = setTimeout(UpstreamRequest.#onTimeout, deps.timeoutMs, this);
  }

  send(): void {
    const { req, target } = this.#request;
    this.#request.upstream = this;
    this.#sentAt = performance.now();
    const headers = toUpstreamHeaders(req.rawHeaders, this.#accessToken, this.#request);
    const options = { path: target, method: req.method ?? 'GET', headers, body: this.#body };
    this.#deps.upstream.dispatch(options, this);
  }

  onConnect(abort: (reason: Error) => void): void {
    this.#abortRequest = abort;
    if (this.#state === 'ended' || this.#heldEnd !== null) {
      abort(new RequestAbortedError()); // the request ended while the connection was being opened
      return;
    }
    this.#timer.refresh(); // the request may have waited for the connection
    const body = this.#body;
    if (body === null || Buffer.isBuffer(body)) return;
    // Each chunk of the body restarts the timeout. request-body.ts aborts the request if the client stops sending.
    body.on('data', () => {
      if (this.#state === 'awaited') this.#timer.refresh();
    });
  }

  static #onTimeout(this: void, upstream: UpstreamRequest): void {
    upstream.#abortFor(new AppError('service_timeout', { cause: new Error('no response in time') }));
  }

  /** If this returns false, undici pauses the response body until `resume` is called. */
  onHeaders(status: number, rawHeaders: readonly Buffer[], resume: () => void): boolean {
    if (status < 200) return true;
    clearTimeout(this.#timer);
    this.#status = status;
    this.#headers = rawHeaders.map((part) => part.toString('latin1'));
    this.#resumeResponse = resume;
    this.#request.times.add('service', this.#sentAt);
    this.#request.upstreamStatus = status;
    if (this.#session === 'unread') this.#hold();
    else this.#refreshOrSend(this.#session);
    return !this.#isPaused;
  }

  #hold(): void {
    this.#state = 'held';
    this.#isPaused = true;
  }

  /** Lets the response of an early request reach the client, now or when it arrives. */
  onSessionRead(session: Session): void {
    this.#session = session;
    if (this.#state === 'held') this.#refreshOrSend(session);
  }

  /** Continues once the outcome and the session are known. */
  #refreshOrSend(session: Session | null): void {
    if (this.#status === 401 && session !== null) {
      this.#hold();
      void this.#refreshAndRepeat(session);
    } else this.#sendHead();
  }

  /** Repeats the request with a new token. If there is no new token or the body was not kept, sends the held-back 401 to the client. */
  async #refreshAndRepeat(session: Session): Promise<void> {
    const { tokens, fail } = this.#deps;
    const request = this.#request;
    const { times, res } = request;
    const { accessToken } = session.record.grant;
    try {
      if (this.#isEarly && accessToken !== this.#accessToken) {
        // Another process has refreshed the token since the last read. Without the early request, the new token would be sent first.
        this.abort();
        request.upstreamStatus = undefined; // metrics count the next response
        new UpstreamRequest(this.#deps, request, accessToken, null, session).send();
        return;
      }
      const newToken = await tokens
        .tokenAfterUnauthorized(session, this.#accessToken, request)
        .finally(() => times.add('token'));
      times.refreshed ||= newToken !== null;
      if (res.destroyed) throw new RequestAbortedError();
      const body = request.body?.whole() ?? null;
      if (newToken === null || (request.body !== null && body === null)) {
        this.#sendHead();
        return;
      }
      this.abort();
      times.replayed = true;
      request.upstreamStatus = undefined; // metrics count the response to the second attempt
      request.token = 'replayed';
      new UpstreamRequest(this.#deps, request, newToken, body, null).send();
    } catch (error) {
      this.abort();
      fail(request, error);
    }
  }

  /** Sends the head to the client, then the body as fast as the client reads it. If a held-back response failed, reports the error instead. */
  #sendHead(): void {
    const { res, requestId, times } = this.#request;
    this.#state = 'head';
    if (this.#heldEnd instanceof Error) {
      this.#abortFor(this.#heldEnd); // nothing has been sent, so the client can still get a problem
      return;
    }
    if (hasUnsupportedCoding(this.#headers)) {
      this.#abortFor(new AppError('service_unreachable'));
      return;
    }
    const headers = this.#status === 204 ? withoutContentLength(this.#headers) : this.#headers;
    const own = {
      requestId,
      serverTiming: times.toHeader(),
      setsCookie: res.hasHeader('set-cookie'),
      always: this.#deps.responseHeaders,
    };
    try {
      writeHead(res, this.#status, toResponseHeaders(headers, own));
    } catch (error) {
      this.#abortFor(new AppError('service_unreachable', { cause: error })); // Node refuses a header from the service
      return;
    }
    if (this.#heldEnd === 'complete') {
      this.onComplete();
      return;
    }
    process.nextTick(UpstreamRequest.#flushHead, this);
    this.#resume();
  }

  /** Flushes the head if no body has arrived yet. flushHeaders() would write the head as UTF-8 and so change its bytes. */
  static #flushHead(this: void, upstream: UpstreamRequest): void {
    if (upstream.#state === 'head') upstream.#request.res.write(EMPTY);
  }

  onData(chunk: Buffer): boolean {
    if (chunk.length === 0) return true; // the connection has ended, and pausing now would make undici throw
    const { res } = this.#request;
    this.#state = 'body';
    if (!res.write(chunk)) {
      // Pause until the client reads. http/connection.ts disconnects a client that never reads, which aborts this request.
      this.#isPaused = true;
      res.once('drain', () => this.#resume());
    }
    return !this.#isPaused;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#resumeResponse?.();
  }

  /** Resumes a paused response. If it is held back, everything but the end of its body has already arrived. */
  onServiceClosed(): void {
    this.#resume();
  }

  onComplete(): void {
    if (this.#state === 'held') this.#heldEnd = 'complete';
    else if (this.#state !== 'ended') {
      this.#state = 'ended';
      this.#request.res.end();
    }
  }

  onError(error: Error): void {
    // undici expects as many bytes as `Content-Length` states. In a 304, `Content-Length` states the length of the corresponding 200 (RFC
    // 9110 §8.6).
    const isBodiless = this.#status === 204 || this.#status === 304;
    if (isBodiless && 'code' in error && error.code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
      this.onComplete();
    else this.#fail(toProblem(error));
  }

  /** Ends the request without reporting its outcome, because the client has disconnected or gets a different response. */
  abort(): void {
    if (this.#state === 'awaited') this.#request.times.add('service', this.#sentAt);
    this.#state = 'ended';
    this.#abortFor(new RequestAbortedError());
  }

  #abortFor(reason: Error): void {
    this.#fail(reason);
    if (this.#abortRequest === null) this.#deps.upstream.cancel(this);
    else this.#abortRequest(reason);
  }

  #fail(error: Error): void {
    clearTimeout(this.#timer);
    if (this.#state === 'awaited') {
      this.#request.times.add('service', this.#sentAt);
      if (this.#session === 'unread') this.#state = 'held';
    }
    if (this.#state === 'held')
      this.#heldEnd ??= error; // #sendHead() checks this, once the session has been read or the token refreshed
    else if (this.#state !== 'ended') {
      this.#state = 'ended';
      this.#deps.fail(this.#request, error);
    }
  }
}

const EMPTY = Buffer.alloc(0);

/** Writes the head of a response. If any headers are already set, writeHead() in Node 20 loses repeated headers. */
function writeHead(res: ServerResponse, status: number, headers: string[]): void {
  const before = res.getHeaderNames();
  if (before.length === 0) {
    res.writeHead(status, headers);
    return;
  }
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? '';
    if (!before.includes(name.toLowerCase())) res.appendHeader(name, headers[at + 1] ?? '');
  }
  res.writeHead(status);
}

/** Returns the error that the client sees. Errors in the request body already come from the gateway and are returned unchanged. */
function toProblem(error: Error): Error {
  if (error instanceof AppError || error instanceof RequestAbortedError) return error;
  return new AppError(toServiceErrorCode(error), { cause: error });
}
