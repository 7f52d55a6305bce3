import type { ServerResponse } from 'node:http';
import { createDeferred, type Deferred } from '../../../src/promises.ts';

/** A point at which a test can hold requests to the service or responses from it. */
export type Barrier = ReturnType<typeof createBarrier>;

/** Creates an open barrier. */
export function createBarrier() {
  let closed: Deferred<void> | null = null;
  let arrival = createDeferred<void>();
  return {
    hold() {
      closed ??= createDeferred();
    },
    /** Opens the barrier and releases everything that it holds. */
    release() {
      closed?.resolve();
      closed = null;
      arrival = createDeferred();
    },
    /** Resolves once the barrier is open. */
    async pass() {
      if (closed === null) return;
      arrival.resolve();
      await closed.promise;
    },
    /** Resolves as soon as the barrier holds something. */
    reached: async () => arrival.promise,
  };
}

/** Holds the finished response from the service at the barrier. Calls `onSend` when the response is released. */
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
