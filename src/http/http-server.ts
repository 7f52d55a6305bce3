import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from '../observability/logger.ts';
import { Connection, UNREAD_CHECKS } from './connection.ts';
import type { BoundPort } from './listening.ts';
import { Shutdown, type ShutdownOptions } from './shutdown.ts';

interface HttpServerOptions extends Partial<ShutdownOptions> {
  readonly log: Logger;
  /** Node's own time limits for clients. */
  readonly limits?: ServerOptions;
  /** How long a closing connection waits for the client to close its side, in ms. */
  readonly lingerMs: number;
  /** Time for which a client may leave a response unread, in ms. The limit is checked twice in this time. */
  readonly unreadMs: number;
}

/** An HTTP server that manages its own connections. Each connection handles one request at a time. */
export class HttpServer {
  readonly server: Server;
  readonly #log: Logger;
  readonly #connections = new Map<Socket, Connection>();
  readonly #shutdown: Shutdown;

  constructor({ log, limits = {}, lingerMs, unreadMs, ...options }: HttpServerOptions) {
    this.#log = log;
    // checkFraming() replaces Node's checks of the Host header and the number of header fields, and its errors close the connection.
    this.server = createServer({ ...limits, requireHostHeader: false });
    this.server.maxHeadersCount = 0;
    this.server.on('error', (error) => log.warn({ err: error }, 'connection not accepted'));
    this.#shutdown = new Shutdown(this.server, this.#connections, options);
    this.#trackConnections(lingerMs);
    this.#closeUnreadConnections(unreadMs);
    this.#refuseBadRequests();
  }

  /** Takes over a bound port and the connections that clients have already opened. */
  async listen(bound: BoundPort, handle: RequestListener): Promise<void> {
    this.#serveRequests(handle);
    await bound.handOver(this.server);
  }

  get isDraining(): boolean {
    return this.#shutdown.isDraining;
  }

  /** Returns whether an API request gets a 503 because it arrived after the drain began (Connection#refusesRequest). */
  refuses(req: IncomingMessage): boolean {
    return this.#connections.get(req.socket)?.refusesRequest === true;
  }

  /** Shuts the server down (shutdown.ts). Resolves to true if the shutdown took at most `withinMs`. */
  async drain(withinMs: number): Promise<boolean> {
    return this.#shutdown.drain(withinMs);
  }

  #trackConnections(lingerMs: number): void {
    this.server.on('connection', (socket: Socket) => {
      const connection = new Connection(socket, lingerMs);
      this.#connections.set(socket, connection);
      socket.once('close', () => this.#connections.delete(socket));
      this.#shutdown.onConnection(connection);
    });
  }

  #closeUnreadConnections(unreadMs: number): void {
    // Node emits `timeout` for idle connections, and closes them only if there is no listener. `server.setTimeout()` would also watch
    // requests, but restarting its timer for each packet takes 2% of a request's CPU time. It also treats any input as activity, so a
    // client could keep sending single bytes and never read its response.
    this.server.on('timeout', (socket: Socket) => this.#connections.get(socket)?.destroyIfIdle());
    const timer = setInterval(() => {
      for (const connection of this.#connections.values()) connection.destroyIfUnread();
    }, unreadMs / UNREAD_CHECKS).unref();
    this.server.once('close', () => clearInterval(timer));
  }

  #serveRequests(handle: RequestListener): void {
    this.server.on('request', (req, res) => {
      this.#connections.get(req.socket)?.begin(req, res, () => {
        this.#shutdown.onRequest(req, res);
        handle(req, res);
      });
    });
    // Send `100 Continue` only once a handler reads the body, so that clients need not send the body of a refused request (RFC
    // 9110 §10.1.1).
    this.server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
      req.once('resume', () => !res.headersSent && res.writeContinue());
      this.server.emit('request', req, res);
    });
    // checkFraming() refuses all expectations except 100-continue.
    this.server.on('checkExpectation', (req: IncomingMessage, res: ServerResponse) =>
      this.server.emit('request', req, res),
    );
  }

  /** Refuses malformed and timed-out requests with a bare 400, 408, 431 or 505, and CONNECT with 405. Closes the connection. */
  #refuseBadRequests(): void {
    const refuse = (socket: Socket, status: number, reason: string) => {
      const client = socket.remoteAddress;
      if (this.#connections.get(socket)?.refuse(`${status} ${STATUS_CODES[status]}`) === true)
        this.#log.info({ status, reason, client }, 'bad request');
    };
    this.server.on('clientError', (error: ParseError, stream) => {
      const socket = stream as Socket;
      const { code = '' } = error;
      // Bytes after a request with `Connection: close` don't belong to any request.
      if (code === 'HPE_CLOSED_CONNECTION') this.#connections.get(socket)?.closeAfterResponse();
      else if (code === 'ERR_HTTP_REQUEST_TIMEOUT' || code.startsWith('HPE_'))
        refuse(socket, toStatus(error), code);
      else socket.destroy(); // the connection was lost
    });
    this.server.on('connect', (_req, stream) => {
      const socket = stream as Socket;
      socket.on('error', () => socket.destroy()); // Node has removed its own listeners
      refuse(socket, 405, 'CONNECT');
    });
  }
}

/** A connection error from the socket or from Node's parser, which adds a reason. */
interface ParseError extends NodeJS.ErrnoException {
  readonly reason?: string;
}

function toStatus({ code, reason }: ParseError): number {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408;
  if (code === 'HPE_HEADER_OVERFLOW') return 431;
  // HTTP/2 with prior knowledge, or an unknown version. Compare the reason, because the parser uses the same code for a bare LF
  // after the version.
  return code === 'HPE_PAUSED_H2_UPGRADE' || reason === 'Invalid HTTP version' ? 505 : 400;
}
