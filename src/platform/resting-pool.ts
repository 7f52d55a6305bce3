import { Client, Dispatcher } from 'undici';

/** For so long after an answer nothing is asked on its connection, where another one can be had. */
const REST_MS = 100;

/** No more than these rest for so long: under load each connection that is used costs. */
const MOST_RESTING = 8;

interface Line {
  readonly client: Client;
  isBusy: boolean;
  /** By performance.now(). */
  restsUntil: number;
}

/**
 * A pool that lets a connection rest after each answer, so that a second one that nobody asked for finds it idle and
 * closes it. HTTP/1.1 tells answers apart by their order alone: once the next request is written, such an answer would
 * go to whoever sent that. Under more load than there are rested connections, the one that rests longest is taken.
 */
export class RestingPool extends Dispatcher {
  readonly #open: () => Client;
  readonly #most: number;
  readonly #lines: Line[] = [];
  /** The one that has rested longest first. */
  readonly #resting: Line[] = [];
  /** The one that was used last is taken first, so that the rest may close. */
  readonly #rested: Line[] = [];
  readonly #waiting = new Map<Dispatcher.DispatchHandler, Dispatcher.DispatchOptions>();

  constructor(origin: string, most: number, options: Client.Options) {
    super();
    this.#open = () => new Client(origin, options);
    this.#most = most;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const line = this.#take();
    if (line === undefined) {
      this.#waiting.set(handler, options);
      return false;
    }
    this.#send(line, options, handler);
    return true;
  }

  /** Forgets a call that waits for a connection; nothing of its handler is called. */
  forget(handler: Dispatcher.DispatchHandler): void {
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
    const line: Line = { client: this.#open(), isBusy: false, restsUntil: 0 };
    this.#lines.push(line);
    line.client.on('drain', () => this.#release(line));
    return line;
  }

  #send(line: Line, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    line.isBusy = true;
    line.client.dispatch(options, handler);
    // A request that is invalid was refused at once, and then no `drain` comes: undici's own pools lose the connection.
    if (line.client.stats.size === 0) this.#release(line);
  }

  #release(line: Line): void {
    if (!line.isBusy) return;
    line.isBusy = false;
    for (const [handler, options] of this.#waiting) {
      this.#waiting.delete(handler);
      this.#send(line, options, handler);
      return;
    }
    line.restsUntil = performance.now() + REST_MS;
    this.#resting.push(line);
  }
}
