import type { LoggedRequest } from '../http/access-log.ts';
import type { CallSlot } from './concurrency.ts';
import type { RequestBody } from './request-body.ts';
import { countTimes } from './timing.ts';
import type { CallPart, CallTimes } from './timing.ts';
import type { ServiceCall } from './service-call.ts';

/** One call on its way through the gateway. */
export interface Call extends LoggedRequest {
  readonly times: CallTimes;
  /** When the part that is under way began, what lies between two counts to the later one; by performance.now(). */
  partBeganAt: number;
  /** Once it is known whose it is. */
  slot: CallSlot | null;
  /** Once it is being forwarded, where it has one. */
  body: RequestBody | null;
  /** The call to the service, once there is one. */
  underWay: ServiceCall | null;
  /** Of the service’s answer, once there is one. */
  serviceStatus: number | undefined;
  /** Why it came to no answer of the service’s, or to half of one. */
  failure: unknown;
}

/** Makes a call of a request, in place: so that its notes are the call’s. */
export function createCall(request: LoggedRequest): Call {
  return Object.assign(request, {
    times: countTimes(),
    partBeganAt: request.startedAt,
    slot: null,
    body: null,
    underWay: null,
    serviceStatus: undefined,
    failure: undefined,
  });
}

/** Ends whatever of a call is still going on, once its answer is closed. */
export function endCall(call: Call): void {
  const { res, slot, body, underWay } = call;
  call.bytesIn = body?.bytes;
  if (!res.writableFinished) underWay?.abort();
  body?.stream.destroy();
  slot?.leave();
}

/** Counts the time since it was last counted, or since the call came, to a part of it. */
export function countTo(call: Call, part: CallPart): void {
  const now = performance.now();
  call.times[part] += now - call.partBeganAt;
  call.partBeganAt = now;
}
