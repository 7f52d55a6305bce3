import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { bytesSent, discardInput, filterRequests, replaceDestroySoon } from './node-internals.ts';
import { abortResponse } from './problem.ts';

/** After an early response the server reads the rest of a body up to this size, which is cheaper than a new connection. */
const SMALL_BODY_BYTES = 64 * 1024;
/** Time in ms around the start of a drain in which a client may open a connection or send a request without knowing of it. */
export const GRACE_MS = 500;

/**
 * - `idle`: no response is due. The next request is served.
 * - `responding`: a response is due. Another request makes it the last one.
 * - `last response`: the connection closes after the response that is due. Input is dropped.
 * - `closing`: our side has ended. Input is dropped until the client closes its side, or the linger time has passed.
 */
type State = 'idle' | 'responding' | 'last response' | 'closing';

/** How connections behave once a shutdown has started. */
export interface Drain {
  /** By performance.now(). */
  readonly startedAt: number;
  /** An idle connection closes after this time, in ms. */
  readonly idleMs: number;
  /** Maximum linger time, in ms. */
  readonly lingerMs: number;
}

/** One client connection and its state: one request at a time, and a close in two steps (docs/decisions/0008). */
export class Connection {
  readonly socket: Socket;
  /** By performance.now(). */
  readonly #openedAt = performance.now();
  #state: State = 'idle';
  #drain: Drain | null = null;
  #requestCount = 0;
  #request: IncomingMessage | null = null;
  /** The response that is due. */
  #response: ServerResponse | null = null;
  /** Whether the handler of the request has begun. Only a closed socket stops it. */
  #isHandled = false;
  #isDiscarding = false;
  /** How long a closing connection waits for the client, in ms. */
  #lingerMs: number;
  #lingerTimer: NodeJS.Timeout | undefined;
  /** Bytes sent at the last check; null if none were waiting. */
  #bytesSent: number | null = null;

  constructor(socket: Socket, lingerMs: number) {
    this.socket = socket;
    this.#lingerMs = lingerMs;
    replaceDestroySoon(socket, () => this.close());
    filterRequests(socket, () => this.#acceptsRequest());
    socket.prependOnceListener('end', () => this.#abortUnfinished());
    socket.once('close', () => clearTimeout(this.#lingerTimer));
  }

  /**
   * Begins a request. Calls `handle` once Node has parsed the packet: a response to a client that pipelines has to say
   * `Connection: close`.
   */
  begin(req: IncomingMessage, res: ServerResponse, handle: () => void): void {
    this.#state = 'responding';
    this.#requestCount += 1;
    this.#request = req;
    this.#response = res;
    this.#isHandled = false;
    res.once('close', () => this.#endRequest(req));
    this.#decideKeepAlive(req, res);
    process.nextTick(() => {
      if (this.#state === 'closing' || this.socket.destroyed) return;
      this.#isHandled = true;
      handle();
    });
  }

  /** Closes the connection after the response that is due, and drops all further input. */
  closeAfterResponse(): void {
    if (this.#response === null) {
      this.close();
      return;
    }
    if (this.#state === 'responding') this.#state = 'last response';
    this.#response.shouldKeepAlive = false;
    this.#discardInput();
  }

  /**
   * Closes the connection in two steps (RFC 9112 §9.6). Ends our side, then drops input until the client closes its own, or
   * until the linger time has passed.
   */
  close(): void {
    const { socket } = this;
    if (socket.destroyed || this.#state === 'closing') return;
    this.#state = 'closing';
    this.#startLinger();
    socket.end();
    this.#discardInput();
    socket.resume();
  }

  /**
   * Responds to bytes that are not a request with a bare status, and closes. If the client would take that for the response to
   * an earlier request, destroys the connection instead and returns false.
   */
  refuse(statusLine: string): boolean {
    const { socket } = this;
    const isReceiving = this.#request?.complete === false;
    const mayRespond = this.#response === null ? !isReceiving : isReceiving && !this.#response.headersSent;
    if (!mayRespond || this.#state === 'closing' || !socket.writable) {
      this.destroy();
      return false;
    }
    socket.write(`HTTP/1.1 ${statusLine}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    if (this.#response !== null && this.#isHandled) socket.destroy();
    else this.close();
    return true;
  }

  /**
   * Begins to drain: each response says `Connection: close`, and the connection closes once it has been idle for a while. A new
   * connection stays open for its first request.
   */
  drain(drain: Drain): void {
    this.#drain = drain;
    this.#lingerMs = Math.min(this.#lingerMs, drain.lingerMs);
    if (this.#state === 'closing') this.#startLinger();
    if (this.#response !== null) this.#response.shouldKeepAlive = false;
    else if (this.#requestCount > 0 || !this.#isNew(drain)) this.closeIfIdleAfter(drain.idleMs);
  }

  /**
   * Whether a drain refuses the request that has begun. The first request on a new connection is served, because the client
   * could not know of the drain.
   */
  get refusesRequest(): boolean {
    return this.#drain !== null && !(this.#requestCount === 1 && this.#isNew(this.#drain));
  }

  /** Closes the connection after `graceMs`, unless a response is due then. */
  closeIfIdleAfter(graceMs: number): void {
    const closeIfIdle = () => {
      if (this.#state === 'idle') this.close();
    };
    if (graceMs === 0) closeIfIdle();
    // Input that arrived while this process stalled is read first.
    else setTimeout(() => setImmediate(closeIfIdle), graceMs).unref();
  }

  /** Destroys a connection that has been silent, unless it waits for the service: then the gateway's timeouts decide. */
  destroyIfSilent(): void {
    if (this.#response === null || this.socket.writableLength > 0) this.destroy();
  }

  /** Destroys the connection where the client has read nothing of a response since the last check. */
  destroyIfUnread(): void {
    const { socket } = this;
    const sent = socket.writableLength > 0 ? bytesSent(socket) : null;
    if (sent !== null && sent === this.#bytesSent) this.destroy();
    this.#bytesSent = sent;
  }

  /** Destroys the connection, with a reset if an HTTP/1.0 client would take a partial response for a complete one. */
  destroy(): void {
    if (this.#response === null) this.socket.destroy();
    else abortResponse(this.#response);
  }

  /**
   * Whether to take the next request. A client may retry requests that it pipelined after the last response (RFC 9112 §9.3.2).
   */
  #acceptsRequest(): boolean {
    if (this.#state === 'idle') return true;
    this.closeAfterResponse();
    return false;
  }

  /**
   * Decides whether the connection stays open after the response. Input may follow that belongs to the request: the rest of a
   * large body, after an early response. After an upgrade request, which no handler grants, Node loses the rest of the packet.
   */
  #decideKeepAlive(req: IncomingMessage, res: ServerResponse): void {
    const { upgrade, 'content-length': length = 0, 'transfer-encoding': coding } = req.headers;
    const isLarge = coding !== undefined || Number(length) > SMALL_BODY_BYTES;
    const keepAlive = res.shouldKeepAlive && upgrade === undefined;
    res.shouldKeepAlive = keepAlive && !isLarge && this.#drain === null;
    if (!isLarge) return;
    req.once('end', () => {
      res.shouldKeepAlive = keepAlive && this.#drain === null && this.#state === 'responding';
    });
  }

  /**
   * Aborts a response that is not finished once the client has closed its side. Node ends our side then, and an HTTP/1.0 client
   * would take the partial response for a complete one.
   */
  #abortUnfinished(): void {
    const response = this.#response;
    if (response?.headersSent === true && !response.writableEnded) abortResponse(response);
  }

  #endRequest(req: IncomingMessage): void {
    this.#response = null;
    if (req.complete) this.#request = null; // frees its head, which may be large
    if (this.#state === 'last response') this.close();
    if (this.#state !== 'responding') return;
    this.#state = 'idle';
    if (this.#drain !== null) this.closeIfIdleAfter(this.#drain.idleMs);
  }

  #isNew({ startedAt }: Drain): boolean {
    return this.#openedAt > startedAt - GRACE_MS;
  }

  #startLinger(): void {
    clearTimeout(this.#lingerTimer);
    this.#lingerTimer = setTimeout(() => this.socket.destroy(), this.#lingerMs);
  }

  #discardInput(): void {
    if (this.#isDiscarding) return;
    this.#isDiscarding = true;
    discardInput(this.socket);
  }
}
