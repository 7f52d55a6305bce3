import type { ServerResponse } from 'node:http';
import type { TraceContext } from './trace-context.ts';

/** What becomes known of a request while it is served: whoever acts on its behalf reads it, or adds to it. */
export interface RequestContext {
  readonly requestId: string;
  readonly trace: TraceContext | null;
  /** Pseudonym of the session whose cookie came with it, or that began with it. */
  session: string | undefined;
  /** What became of the session’s token, in a word of whoever renews it: of `a` to `z` and `_`, as the log takes it as it is. */
  token: string | undefined;
  /** Of the answer’s body, as far as it was written. */
  bytes: number;
}

const NOTES = Symbol('request notes');

/** An answer that can have notes beside it. */
type Noted = ServerResponse & { [NOTES]?: RequestContext };

/** The notes of the request that this answers. Throws where nobody keeps any. */
export function requestContext(res: Noted): RequestContext {
  const notes = res[NOTES];
  if (notes === undefined) throw new Error('nobody keeps notes of this request: AccessLog does');
  return notes;
}

/** Keeps them where requestContext() finds them. */
export function attachContext(res: Noted, notes: RequestContext): void {
  res[NOTES] = notes;
}

/** Notes how long an answer was that was written in one piece; where nobody keeps notes, nothing. */
export function noteBytes(res: Noted, bytes: number): void {
  if (res[NOTES] !== undefined) res[NOTES].bytes = bytes;
}
