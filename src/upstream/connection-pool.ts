import { Client, Dispatcher, buildConnector } from 'undici';

/** How long a connection rests after a response, in ms. If no other connection is free, it takes a request earlier. */
const REST_MS = 100;
/** Maximum number of connections that rest at a time. Under load, every open connection costs CPU time. */
const MAX_RESTING_CONNECTIONS = 8;

export interface ConnectionPoolOptions {
  readonly origin: string;
  readonly connections: number;
  /** Maximum time to connect, to wait for the response headers, and between two chunks of a body, in ms. */
  readonly timeoutMs: number;
  readonly connect?: buildConnector.connector;
}

/** Receives the events of one request. A handler that pauses its response has to implement `onServiceClosed`. */
export interface PooledHandler extends Dispatcher.DispatchHandler {
  /**
   * The service has closed its side, and undici has read all that it sent. A paused response must be resumed now: undici 7
   * throws an uncaught error at the end of a connection whose parser is paused (nodejs/undici#5360).
   */
  onServiceClosed?(): void;
}

interface Connection {
  readonly client: Client;
  /** Handler of the request on this connection. Null while it is idle. */
  handler: PooledHandler | null;
  /** By performance.now(). */
  restsUntil: number;
}

/**
 * The connections to the service. Opens them as requests need them, and keeps them open.
 *
 * A connection rests after each response. A late second response then reaches an idle connection, and undici closes it.
 * HTTP/1.1 matches responses to requests only by their order (RFC 9112 §9.3). Without the rest, that response would go to the
 * next user. docs/decisions/0009 says why undici's own pools do not do this.
 */
export class ConnectionPool extends Dispatcher {
  readonly #options: Required<ConnectionPoolOptions>;
  readonly #connections: Connection[] = [];
  /** Connections without a request, in the order in which their last responses ended, which is that of `restsUntil`. */
  readonly #idle: Connection[] = [];
  readonly #waiting = new Map<PooledHandler, Dispatcher.DispatchOptions>();

  constructor(options: ConnectionPoolOptions) {
    super();
    const connect = buildConnector({ timeout: options.timeoutMs }); // one for all, because it caches TLS sessions
    this.#options = { connect, ...options };
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: PooledHandler): boolean {
    const connection = this.#takeConnection();
    if (connection === undefined) this.#waiting.set(handler, options);
    else this.#send(connection, options, handler);
    return connection !== undefined;
  }

  /** Removes a request that waits for a connection. Its handler is not called. */
  cancel(handler: PooledHandler): void {
    this.#waiting.delete(handler);
  }

  override async destroy(): Promise<void> {
    const closed = this.#connections.map(async ({ client }) => client.destroy());
    // A destroyed client fails the requests that wait.
    for (const [handler, options] of this.#waiting) this.#connections[0]?.client.dispatch(options, handler);
    this.#waiting.clear();
    await Promise.all(closed);
  }

  /**
   * Takes the most recently used connection that has rested, so that the others may time out. If none has, opens another or
   * takes the one whose last response ended first.
   */
  #takeConnection(): Connection | undefined {
    const now = performance.now();
    const hasRested = ({ restsUntil }: Connection) => restsUntil <= now;
    const [first] = this.#idle;
    // While the first connection rests, all of them do, as is usual under load.
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
    // undici emits no `drain` for an invalid request, which it fails at once. Its own pools lose the connection.
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

/** Creates one connection. It carries one request at a time, so that no response waits for another. */
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
        // undici 7 counts a request that fails with this error as running for ever, and the connection would be lost.
        if (hasCode(error, 'ERR_TLS_CERT_ALTNAME_INVALID')) {
          done(new Error('the certificate has another name', { cause: error }), null);
          return;
        }
        // Ahead of undici's own listeners, which throw where the parser is paused.
        socket?.on('end', onServiceClosed).on('error', (reset: NodeJS.ErrnoException) => {
          // undici treats a reset as the end of a response without a length, and a partial response would look complete.
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

/** undici's errors for a service that is too slow. After any other error the service counts as unreachable. */
const TIMEOUTS = ['UND_ERR_CONNECT_TIMEOUT', 'UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'];

/** The problem code of an upstream request without a complete response. */
export function toServiceErrorCode(error: unknown): 'service_timeout' | 'service_unreachable' {
  return TIMEOUTS.some((code) => hasCode(error, code)) ? 'service_timeout' : 'service_unreachable';
}

/** Reads the body of a response. Returns null, and closes the connection, where it is larger than `maxBytes`. */
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
