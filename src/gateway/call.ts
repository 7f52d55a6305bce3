import type { IncomingMessage, ServerResponse } from 'node:http';
import { requestId } from '../platform/request-id.ts';
import type { RequestToLog } from '../platform/request-log.ts';
import { keepNotes } from '../platform/request-notes.ts';
import { readTraceContext } from '../platform/trace-context.ts';
import type { CallSlot } from './call-bounds.ts';
import type { RequestBody } from './request-body.ts';
import { countTimes } from './server-timing.ts';
import type { CallPart, CallTimes } from './server-timing.ts';
import type { ServiceCall } from './service-call.ts';

/** One call on its way through the gateway. */
export interface Call extends RequestToLog {
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

/** `client` is who asks. */
export function createCall(req: IncomingMessage, res: ServerResponse, client: string): Call {
  const startedAt = performance.now();
  const call: Call = {
    req,
    res,
    target: originalTarget(req),
    client,
    route: '/api/*',
    startedAt,
    requestId: requestId(res),
    trace: readTraceContext(req.headers),
    session: undefined,
    token: undefined,
    bytes: 0,
    times: countTimes(res),
    partBeganAt: startedAt,
    slot: null,
    body: null,
    underWay: null,
    serviceStatus: undefined,
    failure: undefined,
  };
  keepNotes(res, call);
  return call;
}

/** Ends whatever of a call is still going on, once its answer is closed. */
export function endCall(call: Call): void {
  const { res, slot, body, underWay } = call;
  call.bytes += underWay?.bytes ?? 0;
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

/** Express takes the path that it mounts at off `url` and keeps the whole one here. */
function originalTarget(req: IncomingMessage): string {
  const { originalUrl } = req as { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}
