import type { ServerResponse } from 'node:http';
import { requestId } from './request-id.ts';
import type { TraceContext } from './trace-context.ts';

/**
 * What became of the session's token with a request: it still lived; it did, and was renewed beside the request; it was
 * spent, and the request waited for a new one; the service refused it (401), and the request was `replayed` with a new one,
 * or was not; no new one could be had.
 */
export type TokenUse = 'living' | 'renewed_ahead' | 'renewed' | 'replayed' | 'refused' | 'failed';

/** What becomes known of a request while it is served: whoever acts on its behalf reads it, or adds to it. */
export interface RequestNotes {
  readonly requestId: string;
  readonly trace: TraceContext | null;
  /** Pseudonym of the session whose cookie came with it, or that began with it. */
  session: string | undefined;
  token: TokenUse | undefined;
  /** Of the answer’s body, as far as it was written. */
  bytes: number;
}

const NOTES = Symbol('request notes');

/** The notes of the request that this answers; made here on first use. */
export function notesOf(res: ServerResponse & { [NOTES]?: RequestNotes }): RequestNotes {
  return (res[NOTES] ??= {
    requestId: requestId(res),
    trace: null,
    session: undefined,
    token: undefined,
    bytes: 0,
  });
}

/** Keeps them where notesOf() finds them. */
export function keepNotes(res: ServerResponse & { [NOTES]?: RequestNotes }, notes: RequestNotes): void {
  res[NOTES] = notes;
}

/** Notes what became of the token; who has nobody to note it for need not look. */
export function noteToken(notes: RequestNotes | undefined, use: TokenUse): void {
  if (notes !== undefined) notes.token = use;
}

/** Of a request that asks several times, what happened before tells more. */
export function noteLiving(notes: RequestNotes | undefined): void {
  if (notes !== undefined) notes.token ??= 'living';
}
