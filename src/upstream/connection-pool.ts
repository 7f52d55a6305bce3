import { Client, Dispatcher } from 'undici';
import type { buildConnector } from 'undici';

/** For so long after an answer nothing is asked on its connection, where another one can be had. */
const REST_MS = 100;

/** No more than these rest for so long: under load each connection that is used costs. */
const MOST_RESTING = 8;

/** Who hears of one call; one that holds its answer back has to listen to `onServiceClosed`. */
export interface PooledHandler extends Dispatcher.DispatchHandler {
  /**
   * The service has closed its side, and all that it sent has been read. A call that is paused must be resumed now:
   * undici 7 throws where it finds the end of a connection beside a paused parser, and nobody can catch that
   * (nodejs/undici#5360). No more of the answer can come of it than its end.
   */
  onServiceClosed?(): void;
}

/** For a pool: undici's own options, and how a connection is opened. */
type PoolOptions = Client.Options & { readonly connect: buildConnector.connector };

interface Line {
  readonly client: Client;
  /** Of the call that it is busy with. */
  handler: PooledHandler | null;
  /** By performance.now(). */
  restsUntil: number;
}

/**
 * A pool that lets a connection rest after each answer, so that a second one that nobody asked for finds it idle and
 * closes it. HTTP/1.1 tells answers apart by their order alone: once the next request is written, such an answer would
 * go to whoever sent that. Under more load than there are rested connections, the one that rests longest is taken.
 */
export class ConnectionPool extends Dispatcher {
  readonly #open: (onServiceClosed: () => void) => Client;
  readonly #most: number;
  readonly #lines: Line[] = [];
  /** The one that has rested longest first. */
  readonly #resting: Line[] = [];
  /** The one that was used last is taken first, so that the rest may close. */
  readonly #rested: Line[] = [];
  readonly #waiting = new Map<PooledHandler, Dispatcher.DispatchOptions>();

  constructor(origin: string, most: number, options: PoolOptions) {
    super();
    this.#open = (onServiceClosed) =>
      new Client(origin, {
        ...options,
        connect(to, done) {
          options.connect(to, (...result) => {
            result[1]?.on('end', onServiceClosed); // ahead of undici's own listener, which is what throws
            done(...result);
          });
        },
      });
    this.#most = most;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: PooledHandler): boolean {
    const line = this.#take();
    if (line === undefined) {
      this.#waiting.set(handler, options);
      return false;
    }
    this.#send(line, options, handler);
    return true;
  }

  /** Forgets a call that waits for a connection; nothing of its handler is called. */
  forget(handler: PooledHandler): void {
    this.#waiting.delete(handler);
  }

  override destroy(): Promise<void>;
  override destroy(error: Error | null): Promise<void>;
  override destroy(callback: () => void): void;
  override destroy(error: Error | null, callback: () => void): void;
  override async destroy(): Promise<void> {
    const all = this.#lines.map(async ({ client }) => client.destroy());
    // A client that is destroyed tells them so.
    for (const [handler, options] of this.#waiting) this.#lines[0]?.client.dispatch(options, handler);
    this.#waiting.clear();
    await Promise.all(all);
  }

  #take(): Line | undefined {
    const now = performance.now();
    while ((this.#resting[0]?.restsUntil ?? Infinity) <= now) {
      const line = this.#resting.shift();
      if (line !== undefined) this.#rested.push(line);
    }
    const rested = this.#rested.pop();
    if (rested !== undefined) return rested;
    if (this.#resting.length >= MOST_RESTING) return this.#resting.shift();
    return this.#lines.length < this.#most ? this.#add() : this.#resting.shift();
  }

  #add(): Line {
    const client = this.#open(() => line.handler?.onServiceClosed?.());
    const line: Line = { client, handler: null, restsUntil: 0 };
    this.#lines.push(line);
    client.on('drain', () => this.#release(line));
    return line;
  }

  #send(line: Line, options: Dispatcher.DispatchOptions, handler: PooledHandler): void {
    line.handler = handler;
    line.client.dispatch(options, handler);
    // A request that is invalid was refused at once, and then no `drain` comes: undici's own pools lose the connection.
    if (line.client.stats.size === 0) this.#release(line);
  }

  #release(line: Line): void {
    if (line.handler === null) return;
    line.handler = null;
    for (const [handler, options] of this.#waiting) {
      this.#waiting.delete(handler);
      this.#send(line, options, handler);
      return;
    }
    line.restsUntil = performance.now() + REST_MS;
    this.#resting.push(line);
  }
}
