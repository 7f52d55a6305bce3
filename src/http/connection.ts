import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { bytesSent, discardInput, filterRequests, replaceDestroySoon } from './node-internals.ts';
import { abortResponse } from './problem.ts';

/** A request body up to this size is read to its end after an early response, because a new connection would cost more. */
const SMALL_BODY_BYTES = 64 * 1024;
/** Extra time, in ms, for clients that open a connection or send a request just as a drain starts. */
export const GRACE_MS = 500;

/** Number of checks in a row that must find nothing read before a connection is destroyed. */
export const UNREAD_CHECKS = 2;

/**
 * - `idle`: no response is pending. The next request is served.
 * - `responding`: a response is pending. If another request arrives, this becomes the last response.
 * - `last response`: the connection closes after the pending response. Input is dropped.
 * - `closing`: the server has closed its side. Input is dropped until the client closes its side or the linger time has passed.
 */
type State = 'idle' | 'responding' | 'last response' | 'closing';

/** Settings for connections during a shutdown. */
export interface Drain {
  /** Start of the drain, as returned by performance.now(). */
  readonly startedAt: number;
  /** Time after which an idle connection closes, in ms. */
  readonly idleMs: number;
  /** Maximum linger time, in ms. */
  readonly lingerMs: number;
}

/** A client connection that handles one request at a time and closes in two steps (docs/decisions/0008). */
export class Connection {
  readonly socket: Socket;
  /** Time at which the connection opened, as returned by performance.now(). */
  readonly #openedAt = performance.now();
  #state: State = 'idle';
  #drain: Drain | null = null;
  #requestCount = 0;
  #request: IncomingMessage | null = null;
  /** The pending response. */
  #response: ServerResponse | null = null;
  /** Whether the request handler has started. A running handler stops only when the socket is closed. */
  #isHandled = false;
  #isDiscarding = false;
  /** How long a closing connection waits for the client, in ms. */
  #lingerMs: number;
  #lingerTimer: NodeJS.Timeout | undefined;
  /** Bytes sent up to the last check; null if no bytes were waiting at that time. */
  #bytesSent: number | null = null;
  /** Number of checks in a row that found the same bytes waiting. */
  #unreadChecks = 0;

  constructor(socket: Socket, lingerMs: number) {
    this.socket = socket;
    this.#lingerMs = lingerMs;
    replaceDestroySoon(socket, () => this.close());
    filterRequests(socket, () => this.#acceptsRequest());
    socket.prependOnceListener('end', () => this.#abortUnfinished());
    socket.once('close', () => clearTimeout(this.#lingerTimer));
  }

  /**
   * Begins a request. Calls `handle` once Node has parsed the entire packet, because a further request in the packet makes this response
   * the last.
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

  /** Closes the connection after the pending response and drops all further input. */
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
   * Closes the connection in two steps (RFC 9112 §9.6). First ends the server's side, then drops input until the client closes
   * its side or the linger time has passed.
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
   * Responds to a malformed request with a bare status and closes the connection. If the client could mistake the status for the response
   * to an earlier request, destroys the connection instead and returns false.
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
   * Starts draining. From then on, each response includes `Connection: close`, and the connection closes after being idle for `idleMs`. A
   * new connection stays open for its first request.
   */
  drain(drain: Drain): void {
    this.#drain = drain;
    this.#lingerMs = Math.min(this.#lingerMs, drain.lingerMs);
    if (this.#state === 'closing') this.#startLinger();
    if (this.#response !== null) this.#response.shouldKeepAlive = false;
    else if (this.#requestCount > 0 || !this.#isNew(drain)) this.closeIfIdleAfter(drain.idleMs);
  }

  /** Returns whether to refuse the current request while the server is draining. A new connection's first request is served. */
  get refusesRequest(): boolean {
    return this.#drain !== null && !(this.#requestCount === 1 && this.#isNew(this.#drain));
  }

  /** Closes the connection after `graceMs`, unless a response is pending by then. */
  closeIfIdleAfter(graceMs: number): void {
    const closeIfIdle = () => {
      if (this.#state === 'idle') this.close();
    };
    if (graceMs === 0) closeIfIdle();
    // setImmediate() lets Node first read any input that arrived while the process was stalled.
    else setTimeout(() => setImmediate(closeIfIdle), graceMs).unref();
  }

  /** Destroys the connection unless a response is pending. */
  destroyIfIdle(): void {
    if (this.#response === null) this.destroy();
  }

  /** Destroys the connection if a response is waiting and this is the last of UNREAD_CHECKS checks that find none of it read. */
  destroyIfUnread(): void {
    const { socket } = this;
    const sent = socket.writableLength > 0 ? bytesSent(socket) : null;
    this.#unreadChecks = sent !== null && sent === this.#bytesSent ? this.#unreadChecks + 1 : 0;
    this.#bytesSent = sent;
    if (this.#unreadChecks === UNREAD_CHECKS) this.destroy();
  }

  /** Destroys the connection. A reset keeps an HTTP/1.0 client from mistaking a partial response for a complete one. */
  destroy(): void {
    if (this.#response === null) this.socket.destroy();
    else abortResponse(this.#response);
  }

  /** Returns whether to accept a request. Clients can retry pipelined requests that received no response (RFC 9112 §9.3.2). */
  #acceptsRequest(): boolean {
    if (this.#state === 'idle') return true;
    this.closeAfterResponse();
    return false;
  }

  /**
   * Decides whether the connection stays open after the response. The connection closes if the rest of a large body may still
   * arrive after an early response. The connection also closes after an upgrade request, because Node loses the rest of the
   * packet. Upgrades are never granted.
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
   * Aborts an unfinished response when the client closes its side. Node would otherwise close the server's side, and an
   * HTTP/1.0 client would mistake the partial response for a complete one.
   */
  #abortUnfinished(): void {
    const response = this.#response;
    if (response?.headersSent === true && !response.writableEnded) abortResponse(response);
  }

  #endRequest(req: IncomingMessage): void {
    this.#response = null;
    if (req.complete) this.#request = null; // free the request head, which may be large
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
