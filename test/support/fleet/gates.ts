import type { ServerResponse } from 'node:http';
import { createDeferred } from '../../../src/promises.ts';
import type { Deferred } from '../../../src/promises.ts';

/** A place on the way to the service or back where a test can hold everyone who comes by. */
export interface Gate {
  hold(): void;
  /** Lets all who stand there go on, and everyone after them. */
  release(): void;
  /** Resolves when the gate is open: at once, or once it is released. */
  pass(): Promise<void>;
  /** Resolves as soon as somebody stands at it. */
  reached(): Promise<void>;
}

/** An open gate. */
export function createGate(): Gate {
  let closed: Deferred<void> | null = null;
  let standing = 0;
  let somebody = createDeferred<void>();
  return {
    hold() {
      closed ??= createDeferred();
    },
    release() {
      closed?.resolve();
      closed = null;
      standing = 0;
      somebody = createDeferred();
    },
    async pass() {
      if (closed === null) return;
      standing += 1;
      somebody.resolve();
      await closed.promise;
    },
    async reached() {
      if (standing === 0) await somebody.promise;
    },
  };
}

/** Lets the service make its answer, which then stands at the gate; `look` is shown it as it leaves. */
export function holdAnswer(
  res: ServerResponse,
  gate: Gate,
  look: (status: number, body: string) => void = () => {},
): void {
  const end = res.end.bind(res) as (...answer: unknown[]) => ServerResponse;
  const endLater = (...answer: unknown[]) => {
    const [body] = answer;
    const leave = () => {
      look(res.statusCode, typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : '');
      return end(...answer);
    };
    void gate.pass().then(leave);
    return res;
  };
  res.end = endLater as typeof res.end;
}
