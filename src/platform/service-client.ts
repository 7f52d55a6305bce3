import { Pool } from 'undici';

export interface ServiceClientOptions {
  readonly origin: string;
  readonly connections: number;
  /** Silence until the response headers, and between chunks of a body, in seconds. */
  readonly timeoutSeconds: number;
}

/** The one pool of connections to the service, for the gateway and the pages alike. */
export type ServiceClient = Pool;

/** Opens connections as they are needed and keeps them; `destroy()` ends them. */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const timeout = options.timeoutSeconds * 1_000;
  return new Pool(options.origin, {
    connections: options.connections,
    // One answer at a time on a connection: an unsolicited second one can reach nobody else's request.
    pipelining: 1,
    headersTimeout: timeout,
    bodyTimeout: timeout,
    connect: { timeout },
  });
}
