import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { createDeferred, settlesWithin } from '../promises.ts';
import { GRACE_MS, type Connection, type Drain } from './connection.ts';
import { stopListening } from './node-internals.ts';

export interface ShutdownOptions {
  readonly isReadinessCheck: (req: IncomingMessage) => boolean;
  /** Whether clients are load balancers, which keep idle connections and retry elsewhere when a connection closes. */
  readonly behindLoadBalancer: boolean;
}

/** Maximum fraction of the drain during which the server accepts new connections. */
const ACCEPTING_PART = 1 / 3;
/** Maximum time a closing connection waits for the client, in ms; never more than half the drain. */
const LINGER_MS = 2_000;
/** Maximum wait for destroyed sockets to close, in ms. Destroyed sockets normally close immediately. */
const DESTROY_MS = 1_000;
/** Maximum interval between readiness checks from a load balancer, in ms. */
const CHECKS_WITHIN_MS = 11_000;

/**
 * Shuts a server down without losing requests. The server keeps serving until a load balancer that polls readiness has received
 * a 503 (docs/decisions/0008).
 */
export class Shutdown {
  readonly #server: Server;
  readonly #connections: ReadonlyMap<Socket, Connection>;
  readonly #options: ShutdownOptions;
  #drain: Drain | null = null;
  readonly #loadBalancerInformed = createDeferred<void>();
  #requestedAt = -Infinity;
  #checkedAt = -Infinity;
  /** The longest recent interval between checks, in ms. Checks from two load balancers are irregularly spaced. */
  #checkIntervalMs = 0;

  constructor(
    server: Server,
    connections: ReadonlyMap<Socket, Connection>,
    options: Partial<ShutdownOptions>,
  ) {
    this.#server = server;
    this.#connections = connections;
    this.#options = { isReadinessCheck: () => false, behindLoadBalancer: false, ...options };
  }

  get isDraining(): boolean {
    return this.#drain !== null;
  }

  onConnection(connection: Connection): void {
    if (this.#drain !== null) connection.drain(this.#drain);
  }

  /** Records whether a load balancer polls readiness and still sends requests. */
  onRequest(req: IncomingMessage, res: ServerResponse): void {
    const now = performance.now();
    if (!this.#options.isReadinessCheck(req)) {
      this.#requestedAt = now;
      return;
    }
    const intervalMs = now - this.#checkedAt;
    this.#checkIntervalMs =
      intervalMs > CHECKS_WITHIN_MS ? 0 : Math.max(intervalMs, this.#checkIntervalMs / 2);
    this.#checkedAt = now;
    if (this.isDraining) res.once('finish', this.#loadBalancerInformed.resolve);
  }

  /**
   * Lets requests in progress finish, and resolves with true once all connections are closed. After `withinMs`, destroys the
   * remaining connections and resolves with false.
   */
  async drain(withinMs: number): Promise<boolean> {
    const startedAt = performance.now();
    const idleMs = this.#options.behindLoadBalancer ? 0 : GRACE_MS;
    this.#drain = { startedAt, idleMs, lingerMs: Math.min(LINGER_MS, withinMs / 2) };
    for (const connection of this.#connections.values()) connection.drain(this.#drain);
    await this.#untilLoadBalancerLeaves(startedAt + withinMs * ACCEPTING_PART);

    stopListening(this.#server);
    const connections = [...this.#connections.values()];
    for (const connection of connections) connection.closeIfIdleAfter(GRACE_MS);
    const closed = Promise.all(connections.map(untilClosed));
    const inTime = await settlesWithin(closed, startedAt + withinMs - performance.now());
    // Destroy the connections first, so that handlers stop before their dependencies are closed.
    for (const connection of connections) connection.destroy();
    await settlesWithin(closed, DESTROY_MS);
    await immediate();
    return inTime;
  }

  /**
   * Resolves once the next readiness check has received its response and no request has arrived for GRACE_MS. By then, the load balancer is
   * using other servers. Resolves immediately if no load balancer polls readiness, and never later than `latest`.
   */
  async #untilLoadBalancerLeaves(latest: number): Promise<void> {
    // A check may be late by as much as one interval.
    const dueBy = Math.min(this.#checkedAt + 2 * this.#checkIntervalMs, latest);
    if (dueBy <= performance.now()) return;
    await settlesWithin(this.#loadBalancerInformed.promise, dueBy - performance.now());
    let quietAt = performance.now() + GRACE_MS;
    while (performance.now() < Math.min(quietAt, latest)) {
      await delay(Math.min(quietAt, latest) - performance.now());
      quietAt = Math.max(quietAt, this.#requestedAt + GRACE_MS);
    }
  }
}

async function untilClosed({ socket }: Connection): Promise<void> {
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}
