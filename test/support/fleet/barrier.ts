import type { ServerResponse } from 'node:http';
import { createDeferred, type Deferred } from '../../../src/promises.ts';

/** A point on the way to the service or back at which a test can hold requests or responses. */
export type Barrier = ReturnType<typeof createBarrier>;

/** Creates an open barrier. */
export function createBarrier() {
  let closed: Deferred<void> | null = null;
  let arrival = createDeferred<void>();
  return {
    hold() {
      closed ??= createDeferred();
    },
    /** Lets through what is held, and everything after it. */
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
    /** Resolves as soon as something is held. */
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
