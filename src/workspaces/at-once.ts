/** Lets a session in, and gives what it leaves with; null where it has enough under way already. */
type Enter = (sessionId: string) => (() => void) | null;

/**
 * Counts what a session has under way in this process of one kind, and lets in no more than `most`: each takes connections
 * to the service, and memory, and one session must not take those of all.
 */
export function createAtOnce(most: number): Enter {
  const underWay = new Map<string, number>();
  return (sessionId) => {
    const count = underWay.get(sessionId) ?? 0;
    if (count >= most) return null;
    underWay.set(sessionId, count + 1);
    return () => {
      const left = (underWay.get(sessionId) ?? 1) - 1;
      if (left > 0) underWay.set(sessionId, left);
      else underWay.delete(sessionId);
    };
  };
}
