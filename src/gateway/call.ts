import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientAddress } from '../platform/client-address.ts';
import { requestId } from '../platform/request-id.ts';
import type { RequestToLog } from '../platform/request-log.ts';
import type { CallSlot } from './call-bounds.ts';
import type { RequestBody } from './request-body.ts';
import type { CallTimes } from './server-timing.ts';
import type { ServiceCall } from './service-call.ts';

/** One call on its way through the gateway. */
export interface Call extends RequestToLog {
  /** Its request id. */
  readonly id: string;
  readonly times: CallTimes;
  /** Once it is known whose it is. */
  slot: CallSlot | null;
  /** Once it is being forwarded, where it has one. */
  body: RequestBody | null;
  /** The call to the service, once there is one. */
  underWay: ServiceCall | null;
}

/** `proxies` is the number of reverse proxies whose `X-Forwarded-For` is believed. */
export function createCall(req: IncomingMessage, res: ServerResponse, proxies: number): Call {
  return {
    req,
    res,
    target: originalTarget(req),
    client: clientAddress(req, proxies),
    startedAt: performance.now(),
    id: requestId(res),
    times: { session: 0, token: 0, service: 0 },
    slot: null,
    body: null,
    underWay: null,
  };
}

/** Ends whatever of a call is still going on, once its answer is closed. */
export function endCall({ res, slot, body, underWay }: Call): void {
  if (!res.writableFinished) underWay?.abort();
  body?.stream.destroy();
  slot?.leave();
}

/** Awaits a part of a call and adds what it took. */
export async function timed<T>(times: CallTimes, part: keyof CallTimes, work: Promise<T>): Promise<T> {
  const startedAt = performance.now();
  try {
    return await work;
  } finally {
    times[part] += performance.now() - startedAt;
  }
}

/** Express takes the path that it mounts at off `url` and keeps the whole one here. */
function originalTarget(req: IncomingMessage): string {
  const { originalUrl } = req as { originalUrl?: unknown };
  return typeof originalUrl === 'string' ? originalUrl : (req.url ?? '');
}
