import type { LoggedRequest } from '../http/access-log.ts';
import type { RequestSlot } from './concurrency.ts';
import type { RequestBody } from './request-body.ts';

export interface ApiRequest extends LoggedRequest {
  readonly times: Timing;
  /** Null until the request acquires a slot. */
  slot: RequestSlot | null;
  /** Null until the request has a slot, and always null for a request without a body. */
  body: RequestBody | null;
  /** The current or most recent upstream request. */
  upstream: { abort(): void } | null;
  /** Status of the response from the service. */
  upstreamStatus: number | undefined;
}

/** Turns a logged request into an API request by adding fields to the same object. */
export function createApiRequest(request: LoggedRequest): ApiRequest {
  return Object.assign(request, {
    times: new Timing(request.startedAt),
    slot: null,
    body: null,
    upstream: null,
    upstreamStatus: undefined,
  });
}

/**
 * Releases everything that a request holds, once its response has closed. Drops the rest of an upload, and aborts the upstream request if
 * the client disconnected early. A token refresh in progress continues.
 */
export function endApiRequest(request: ApiRequest): void {
  const { res, slot, body, upstream } = request;
  request.bytesIn = body?.bytes;
  if (!res.writableFinished) upstream?.abort();
  body?.stream.destroy();
  slot?.release();
}

/** The client has closed its connection or stopped sending its body, so the request gets no response. */
export class RequestAbortedError extends Error {
  override readonly name = 'RequestAbortedError';
}

/** Measures how long each stage of a request takes, in ms. Stages that were not reached stay at 0. */
export class Timing {
  session = 0;
  token = 0;
  service = 0;
  /** Whether the request has waited for a new token and received it. */
  refreshed = false;
  /** Whether the request was sent a second time with the new token. */
  replayed = false;
  #partBeganAt: number;

  /** `startedAt` is a time from performance.now(). */
  constructor(startedAt: number) {
    this.#partBeganAt = startedAt;
  }

  /**
   * Adds the time since `beganAt` to a stage. By default, that is the last measurement or the start of the request. Pass it for stages that
   * may overlap.
   */
  add(part: 'session' | 'token' | 'service', beganAt = this.#partBeganAt): void {
    const now = performance.now();
    this[part] += now - beganAt;
    this.#partBeganAt = now;
  }

  /** Discards the time since the last measurement. */
  skip(): void {
    this.#partBeganAt = performance.now();
  }

  /** Returns the `Server-Timing` header value (W3C Server Timing). */
  toHeader(): string {
    const refreshed = this.refreshed ? ';desc=refreshed' : '';
    const replayed = this.replayed ? ';desc=replayed' : '';
    const times = `session;dur=${tenths(this.session)}, token;dur=${tenths(this.token)}${refreshed}`;
    return `${times}, service;dur=${tenths(this.service)}${replayed}`;
  }
}

/** The numbers 0 to 100 in steps of 0.1, as text. Formatting a fraction takes as much CPU time as the rest of the header. */
const TENTHS = Array.from({ length: 1_001 }, (_, at) => String(at / 10));

function tenths(ms: number): string {
  const at = Math.round(ms * 10);
  return TENTHS[at] ?? String(at / 10);
}
