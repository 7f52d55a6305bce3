import { AppError } from '../platform/errors.ts';

const MOST_PER_SESSION = 2;

/**
 * Counts the exports that a session has under way in this process: each keeps a call to the service going for as long as
 * it takes. `enter` throws a 429 with the way on where there are two, and gives what ends the one that it has let in.
 */
export function createExportsAtOnce(): { enter(sessionId: string, address: string): () => void } {
  const underWay = new Map<string, number>();
  return {
    enter(sessionId, address) {
      const count = underWay.get(sessionId) ?? 0;
      if (count >= MOST_PER_SESSION) throw tooManyExports(address);
      underWay.set(sessionId, count + 1);
      return () => {
        const left = (underWay.get(sessionId) ?? 1) - 1;
        if (left > 0) underWay.set(sessionId, left);
        else underWay.delete(sessionId);
      };
    },
  };
}

function tooManyExports(address: string): AppError {
  return new AppError(429, 'too_many_exports', 'Two exports are under way already', {
    detail: 'Wait until one of them has finished, or stop one. Then this one can begin.',
    headers: { 'retry-after': '10' },
    action: { href: address, label: 'Try again' },
  });
}
