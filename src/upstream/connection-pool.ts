import { Client, Dispatcher, buildConnector } from 'undici';
import { sharedLookup } from './shared-lookup.ts';

/** How long a connection is left unused after a response, in ms, unless no other connection is available. */
const REST_MS = 100;
/** Once this many connections are idle, requests reuse one even before REST_MS has passed. More open connections would cost CPU time. */
const MAX_RESTING_CONNECTIONS = 8;

export interface ConnectionPoolOptions {
  readonly origin: string;
  readonly connections: number;
  /** Maximum time in ms to connect, to wait for the response headers, and to wait for each chunk of a body. */
  readonly timeoutMs: number;
  readonly connect?: buildConnector.connector;
}

/** Receives the events for one request. A handler that pauses responses must implement `onServiceClosed`. */
export interface PooledHandler extends Dispatcher.DispatchHandler {
  /**
   * Called once the service has closed its side and undici has read everything that the service sent. A paused response must then be
   * resumed, because undici 7 throws an uncaught error if a connection ends while its parser is paused (nodejs/undici#5360).
   */
  onServiceClosed?(): void;
}

interface Connection {
  readonly client: Client;
  /** Handler for the current request; null while the connection is idle. */
  handler: PooledHandler | null;
  /** Time at which REST_MS will have passed, as returned by performance.now(). */
  restsUntil: number;
}

/**
 * The pool of connections to the service, which are opened on demand and kept open.
 *
 * After each response, the connection is left unused for REST_MS. HTTP/1.1 matches responses to requests only by their order (RFC 9112
 * §9.3), so a stray second response could otherwise go to the next user. If a response arrives on an idle connection, undici closes the
 * connection. docs/decisions/0009 explains why undici's own pools are not used.
 */
export class ConnectionPool extends Dispatcher {
  readonly #options: Required<ConnectionPoolOptions>;
  readonly #connections: Connection[] = [];
  /** Idle connections, ordered by `restsUntil`, and so by the end of their last response. */
  readonly #idle: Connection[] = [];
  readonly #waiting = new Map<PooledHandler, Dispatcher.DispatchOptions>();

  constructor(options: ConnectionPoolOptions) {
    super();
    // Shared by all connections, because it caches TLS sessions.
    const connect = buildConnector({ timeout: options.timeoutMs, lookup: sharedLookup });
    this.#options = { connect, ...options };
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: PooledHandler): boolean {
    const connection = this.#takeConnection();
    if (connection === undefined) this.#waiting.set(handler, options);
    else this.#send(connection, options, handler);
    return connection !== undefined;
  }

  /** Removes a request that is waiting for a connection, without calling its handler. */
  cancel(handler: PooledHandler): void {
    this.#waiting.delete(handler);
  }

  override async destroy(): Promise<void> {
    const closed = this.#connections.map(async ({ client }) => client.destroy());
    // Fail the waiting requests by dispatching them to a destroyed client.
    for (const [handler, options] of this.#waiting) this.#connections[0]?.client.dispatch(options, handler);
    this.#waiting.clear();
    await Promise.all(closed);
  }

  /**
   * Takes the most recently used connection that has been idle for REST_MS. The other connections can then time out. If every idle
   * connection was used more recently, opens a new connection or takes the connection that has been idle longest.
   */
  #takeConnection(): Connection | undefined {
    const now = performance.now();
    const hasRested = ({ restsUntil }: Connection) => restsUntil <= now;
    const [first] = this.#idle;
    // `first` has been idle longest. Under load, it has usually not been idle for REST_MS, so the others can be skipped.
    if (first !== undefined && hasRested(first))
      return this.#idle.splice(this.#idle.findLastIndex(hasRested), 1)[0];
    const canOpen = this.#connections.length < this.#options.connections;
    return canOpen && this.#idle.length < MAX_RESTING_CONNECTIONS
      ? this.#openConnection()
      : this.#idle.shift();
  }

  #openConnection(): Connection {
    const client = createClient(this.#options, () => connection.handler?.onServiceClosed?.());
    const connection: Connection = { client, handler: null, restsUntil: 0 };
    this.#connections.push(connection);
    client.on('drain', () => this.#release(connection));
    return connection;
  }

  #send(connection: Connection, options: Dispatcher.DispatchOptions, handler: PooledHandler): void {
    connection.handler = handler;
    connection.client.dispatch(options, handler);
    // undici fails an invalid request immediately without emitting `drain`, so release the connection here. undici's own pools lose such a
    // connection.
    if (connection.client.stats.size === 0) this.#release(connection);
  }

  #release(connection: Connection): void {
    if (connection.handler === null) return;
    connection.handler = null;
    for (const [handler, options] of this.#waiting) {
      this.#waiting.delete(handler);
      this.#send(connection, options, handler);
      return;
    }
    connection.restsUntil = performance.now() + REST_MS;
    this.#idle.push(connection);
  }
}

/** Creates a connection that carries one request at a time, so that no response has to wait for another. */
function createClient(
  { origin, timeoutMs, connect }: Required<ConnectionPoolOptions>,
  onServiceClosed: () => void,
): Client {
  return new Client(origin, {
    pipelining: 1,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    connect(to, done) {
      connect(to, (...result) => {
        const [error, socket] = result;
        // Replace this error, because undici 7 would count the request as running forever, and the pool would lose the connection.
        if (hasCode(error, 'ERR_TLS_CERT_ALTNAME_INVALID')) {
          done(new Error('the certificate is for a different host', { cause: error }), null);
          return;
        }
        // These listeners must run before undici's own, which throw if the parser is paused.
        socket?.on('end', onServiceClosed).on('error', (reset: NodeJS.ErrnoException) => {
          // undici would treat a reset as the end of a response without a length, making a partial response look complete.
          if (reset.code === 'ECONNRESET') reset.code = 'SERVICE_RESET';
        });
        done(...result);
      });
    },
  });
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

/** undici's error codes for a service that is too slow. After any other error, the service is reported as unreachable. */
const TIMEOUTS = ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];

/** Returns the problem code for an upstream request that did not get a complete response. */
export function toServiceErrorCode(error: unknown): 'service_timeout' | 'service_unreachable' {
  return TIMEOUTS.some((code) => hasCode(error, code)) ? 'service_timeout' : 'service_unreachable';
}

/** Reads a response body. If the body is larger than `maxBytes`, returns null and closes the connection. */
export async function readAtMost(body: AsyncIterable<Buffer>, maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop early destroys the body and closes its connection.
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
