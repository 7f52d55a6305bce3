import type { ServerResponse } from 'node:http';

/** Aborted once nobody waits for an answer any more: also where that was so before anybody asked. */
export function goneSignal(res: ServerResponse): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  if (res.destroyed) gone.abort(); // its `close` has been already
  return gone.signal;
}
