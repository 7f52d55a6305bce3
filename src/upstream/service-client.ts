import { buildConnector } from 'undici';
import { ConnectionPool } from './connection-pool.ts';

export interface ServiceClientOptions {
  readonly origin: string;
  readonly connections: number;
  /** Silence until the response headers, and between chunks of a body, in seconds. */
  readonly timeoutSeconds: number;
}

/** The one pool of connections to the service, for the gateway and the pages alike. */
export type ServiceClient = ConnectionPool;

/** Opens connections as they are needed and keeps them; `destroy()` ends them. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const timeout = options.timeoutSeconds * 1_000;
  const connect = buildConnector({ timeout });
  return new ConnectionPool(options.origin, options.connections, {
    // One question at a time on a connection, so that a slow answer holds up no other.
    pipelining: 1,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    connect(to, done) {
      connect(to, (...result) => {
        const [failure, socket] = result;
        // undici counts a call that fails by this as one under way, for ever: the connection would be lost.
        if (isWrongName(failure)) {
          done(new Error('the certificate is of another name', { cause: failure }), null);
          return;
        }
        // undici takes a reset for the end of an answer that only its connection ends: half of it would look whole. And
        // beside a paused parser it would throw where nobody catches it, as at an end (resting-pool.ts).
        socket?.on('error', (error: NodeJS.ErrnoException) => {
          if (error.code === 'ECONNRESET') error.code = 'SERVICE_RESET';
        });
        done(...result);
      });
    },
  });
}

function isWrongName(error: Error | null): boolean {
  return error !== null && 'code' in error && error.code === 'ERR_TLS_CERT_ALTNAME_INVALID';
}

/** Whether a failed call ran out of time, as opposed to a service that can't be reached or answers what is not HTTP. */
export function isTimeout(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^UND_ERR_(?:CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code);
}
