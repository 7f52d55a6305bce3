import type { LoggedRequest } from '../http/access-log.ts';
import type { RequestSlot } from './concurrency.ts';
import type { RequestBody } from './request-body.ts';

export interface ApiRequest extends LoggedRequest {
  readonly times: Timing;
  /** Null until the session cookie has been read. */
  slot: RequestSlot | null;
  /** Null until the request has a slot, and where it has no body. */
  body: RequestBody | null;
  /** The upstream request in flight, or the last one. */
  upstream: { abort(): void } | null;
  /** Status of the service's response. */
  upstreamStatus: number | undefined;
  /** The error of a request that got no response from the service, or only a part of one. */
  failure: unknown;
}

/** Extends a logged request in place, so that its request context is the API request. */
export function createApiRequest(request: LoggedRequest): ApiRequest {
  return Object.assign(request, {
    times: new Timing(request.startedAt),
    slot: null,
    body: null,
    upstream: null,
    upstreamStatus: undefined,
    failure: undefined,
  });
}

/**
 * Releases everything that a request holds, once its response has closed. If the client disconnected first, aborts the upstream
 * request and drops the rest of an upload. A token refresh in progress continues.
 */
export function endApiRequest(request: ApiRequest): void {
  const { res, slot, body, upstream } = request;
  request.bytesIn = body?.bytes;
  if (!res.writableFinished) upstream?.abort();
  body?.stream.destroy();
  slot?.release();
}

/** The client has closed its connection, or has stopped sending its body. No response would reach it. */
export class RequestAbortedError extends Error {
  override readonly name = 'RequestAbortedError';
}

/** Measures how long the parts of a request take, in ms. A part that was not reached took no time. */
export class Timing {
  session = 0;
  token = 0;
  service = 0;
  /** Whether the request has waited for a new token, and got it. */
  refreshed = false;
  /** Whether the request was sent a second time, with that token. */
  replayed = false;
  #partBeganAt: number;

  /** `startedAt` is by performance.now(). */
  constructor(startedAt: number) {
    this.#partBeganAt = startedAt;
  }

  /** Adds the time since the last measurement, or since the start, to a part. */
  add(part: 'session' | 'token' | 'service'): void {
    const now = performance.now();
    this[part] += now - this.#partBeganAt;
    this.#partBeganAt = now;
  }

  /** Leaves out the time since the last measurement. */
  skip(): void {
    this.#partBeganAt = performance.now();
  }

  /** Returns the value of `Server-Timing` (W3C). */
  toHeader(): string {
    const refreshed = this.refreshed ? ';desc=refreshed' : '';
    const replayed = this.replayed ? ';desc=replayed' : '';
    const times = `session;dur=${tenths(this.session)}, token;dur=${tenths(this.token)}${refreshed}`;
    return `${times}, service;dur=${tenths(this.service)}${replayed}`;
  }
}

/** Texts of 0 to 100 ms, in tenths. Formatting a fraction costs as much as the rest of the header. */
const TENTHS = Array.from({ length: 1_001 }, (_, at) => String(at / 10));

function tenths(ms: number): string {
  const at = Math.round(ms * 10);
  return TENTHS[at] ?? String(at / 10);
}
