import type { ServerResponse } from 'node:http';
import { createDeferred, type Deferred } from '../../../src/promises.ts';

/** A point on the way to the service or back at which a test can hold requests or responses. */
export interface Barrier {
  hold(): void;
  /** Lets through what is held, and everything after it. */
  release(): void;
  /** Resolves once the barrier is open. */
  pass(): Promise<void>;
  /** Resolves as soon as something is held. */
  reached(): Promise<void>;
}

/** Creates an open barrier. */
export function createBarrier(): Barrier {
  let closed: Deferred<void> | null = null;
  let arrival = createDeferred<void>();
  return {
    hold() {
      closed ??= createDeferred();
    },
    release() {
      closed?.resolve();
      closed = null;
      arrival = createDeferred();
    },
    async pass() {
      if (closed === null) return;
      arrival.resolve();
      await closed.promise;
    },
    reached: async () => arrival.promise,
  };
}

/** Lets the service finish its response, and holds that at the barrier; `onSend` sees it as it leaves. */
export function holdResponse(
  res: ServerResponse,
  barrier: Barrier,
  onSend: (status: number, body: string) => void = () => {},
): void {
  const end = res.end.bind(res) as (...args: unknown[]) => ServerResponse;
  const endLater = (...args: unknown[]) => {
    const [body] = args;
    void barrier.pass().then(() => {
      onSend(res.statusCode, typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : '');
      return end(...args);
    });
    return res;
  };
  res.end = endLater as typeof res.end;
}
