import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** After an early response the server reads the rest of a body up to this size: cheaper than a new connection. */
const SMALL_BODY_BYTES = 64 * 1024;
/** Returned by `onIncoming`, lets Node's parser stop behind this head, as it does for an upgrade. */
const STOP_PARSING = 2;

/** The part of Node's HTTP parser that decides what becomes of a head. Undocumented; alike in Node 20 to 24. */
interface Parser {
  onIncoming: (req: IncomingMessage & { upgrade: boolean }, shouldKeepAlive: boolean) => number;
}

interface Limits {
  /** How long a closing connection waits for the client to close its side, in ms. */
  lingerMs: number;
}

/**
 * The state of one client connection: one request at a time, and a close in two steps. docs/decisions/0041 says why each
 * part is needed.
 */
export class Connection {
  readonly socket: Socket;
  /** By performance.now(). */
  readonly openedAt = performance.now();
  /** How many requests have begun on this connection. */
  requestCount = 0;
  readonly #limits: Limits;
  #request: IncomingMessage | null = null;
  #response: ServerResponse | null = null;
  #isHandled = false;
  /** False once a response has to say `Connection: close`. */
  #keepsAlive = true;
  /** Whether the connection closes after its response, whatever the head of that said. */
  #mustClose = false;
  #isDiscarding = false;
  #lingering: NodeJS.Timeout | null = null;
  /** How many bytes had left at the last check; null where none waited. */
  #bytesSent: number | null = null;

  constructor(socket: Socket, limits: Limits) {
    this.socket = socket;
    this.#limits = limits;
    // Node calls this after a response with `Connection: close`. Its own version destroys the socket at once: the kernel
    // resets a connection with unread bytes, and the reset can overtake the response (RFC 9112 §9.6).
    socket.destroySoon = () => this.close();
    socket.once('close', () => clearTimeout(this.#lingering ?? undefined));
    this.#dropPipelined((socket as Socket & { readonly parser: Parser }).parser);
  }

  /** Whether a response is due. */
  get isResponding(): boolean {
    return this.#response !== null;
  }

  /** Whether a handler works for the client: only the end of the socket tells it to stop. */
  get isHandling(): boolean {
    return this.#response !== null && this.#isHandled;
  }

  /**
   * Whether bytes written now would be the response to what the client is sending: no response is due to an earlier
   * request, and the current request has had no part of its own.
   */
  get takesResponse(): boolean {
    const isReceiving = this.#request?.complete === false;
    return this.#response === null ? !isReceiving : isReceiving && !this.#response.headersSent;
  }

  /**
   * Begins a request. Calls `handle` once Node has parsed the packet: a response to a client that pipelines has to say
   * `Connection: close`.
   */
  begin(req: IncomingMessage, res: ServerResponse, handle: () => void): void {
    this.requestCount += 1;
    this.#request = req;
    this.#response = res;
    res.once('close', () => {
      this.#response = null;
      if (req.complete) this.#request = null; // its head may be large
      if (this.#mustClose) this.close();
    });
    this.#decideKeepAlive(req, res);
    this.#isHandled = false;
    process.nextTick(() => {
      if (this.isLingering || this.socket.destroyed) return;
      this.#isHandled = true;
      handle();
    });
  }

  /** Lets the response say `Connection: close`, unless its head has been sent; and each response from now on. */
  announceClose(): void {
    this.#keepsAlive = false;
    if (this.#response !== null) this.#response.shouldKeepAlive = false;
  }

  /** Closes the connection after the response that is due, and drops whatever else the client sends. */
  endWithResponse(): void {
    this.announceClose();
    this.#mustClose = true;
    this.#discardInput();
  }

  /**
   * Closes the connection in two steps (RFC 9112 §9.6): ends our side, then reads and drops input until the client closes
   * its own, or until the linger time has passed. A second call applies a linger time that has changed since.
   */
  close(): void {
    const { socket } = this;
    if (socket.destroyed) return;
    const isFirst = this.#lingering === null;
    clearTimeout(this.#lingering ?? undefined);
    this.#lingering = setTimeout(() => socket.destroy(), this.#limits.lingerMs);
    if (!isFirst) return;
    this.#mustClose = true;
    socket.end();
    this.#discardInput();
    socket.resume();
  }

  /** Destroys the connection where the client has taken nothing of a response since the last check. */
  destroyIfUnread(): void {
    const { socket } = this;
    const bytesSent = socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : null;
    if (bytesSent !== null && bytesSent === this.#bytesSent) socket.destroy();
    this.#bytesSent = bytesSent;
  }

  /** Whether the connection is only waiting for the client to close it. */
  get isLingering(): boolean {
    return this.#lingering !== null;
  }

  /**
   * Drops a request that arrives while a response is due or the connection is closing: the client may retry what it
   * pipelined behind the last response (RFC 9112 §9.3.2). Left to Node, each of the thousands of requests in a packet
   * would take more than a kilobyte of memory until the connection closes.
   */
  #dropPipelined(parser: Parser): void {
    const { onIncoming } = parser;
    parser.onIncoming = (req, shouldKeepAlive) => {
      if (!this.isResponding && !this.#mustClose) return onIncoming(req, shouldKeepAlive);
      this.endWithResponse();
      req.upgrade = req.method === 'CONNECT'; // with anything else Node would destroy the socket
      return STOP_PARSING;
    };
  }

  /**
   * Closes the connection with a response that the rest of the request may follow. After a request for an upgrade, which
   * no handler grants, Node loses the rest of the packet; behind an early response comes what is left of a large body.
   */
  #decideKeepAlive(req: IncomingMessage, res: ServerResponse): void {
    const { upgrade, 'content-length': length = 0, 'transfer-encoding': coding } = req.headers;
    const isLarge = coding !== undefined || Number(length) > SMALL_BODY_BYTES;
    const keepAlive = res.shouldKeepAlive && upgrade === undefined;
    res.shouldKeepAlive = keepAlive && this.#keepsAlive && !isLarge;
    if (!isLarge) return;
    req.once('end', () => {
      res.shouldKeepAlive = keepAlive && this.#keepsAlive;
    });
  }

  #discardInput(): void {
    if (this.#isDiscarding) return;
    this.#isDiscarding = true;
    const { socket } = this;
    // Detaches the parser, and with it Node's own `resume` listener, which restarts the reads of a paused socket. A socket
    // that flows may be about to resume, so both take the same way.
    const isFlowing = socket.readableFlowing === true;
    socket.once('resume', () => socket.removeAllListeners('data').on('data', () => {}));
    if (isFlowing) socket.pause().resume();
  }
}

/** All open connections of a server. */
export interface Connections extends Iterable<Connection> {
  readonly size: number;
  /** The connection of a socket; undefined once that is closed. */
  get(socket: Socket): Connection | undefined;
  /** Lets closing connections, now and from now on, wait no longer than this for the client. */
  shortenLinger(lingerMs: number): void;
}

/**
 * Tracks the connections of a server from before the first one. A connection on which nothing moves for `silenceMs` is
 * closed, unless the client waits for a response: then the gateway's timeouts decide.
 */
export function trackConnections(server: Server, lingerMs: number, silenceMs: number): Connections {
  const limits: Limits = { lingerMs };
  const connections = new Map<Socket, Connection>();

  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Connection(socket, limits));
    socket.once('close', () => connections.delete(socket));
  });
  // With a listener Node closes no silent connection by itself, idle ones included.
  server.setTimeout(silenceMs, (socket) => {
    if (connections.get(socket)?.isResponding !== true || socket.writableLength > 0) socket.destroy();
  });
  // Input counts as activity there: a client could send now and then, read nothing, and hold its response for ever.
  const checkReaders = setInterval(() => {
    for (const connection of connections.values()) connection.destroyIfUnread();
  }, silenceMs).unref();
  server.once('close', () => clearInterval(checkReaders));
  return {
    get: (socket) => connections.get(socket),
    get size() {
      return connections.size;
    },
    [Symbol.iterator]: () => connections.values(),
    shortenLinger(ms) {
      limits.lingerMs = Math.min(limits.lingerMs, ms);
      for (const connection of connections.values()) if (connection.isLingering) connection.close();
    },
  };
}

/**
 * Responds to `Expect: 100-continue` (RFC 9110 §10.1.1) once a handler reads the body: a client whose head is refused
 * need not send it. Another expectation is left to the check of the framing, which refuses it.
 */
export function continueOnRead(server: Server): void {
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    req.once('resume', () => !res.headersSent && res.writeContinue());
    server.emit('request', req, res);
  });
  server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
    server.emit('request', req, res),
  );
}
