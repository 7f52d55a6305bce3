import { AppError, toAppError } from '../errors.ts';
import { isTimeout } from '../upstream/connection-pool.ts';
import type { Call } from './call.ts';
import { BodyStalledError } from './request-body.ts';
import { CallAbortedError, ServiceCallError, ServiceTimeoutError } from './service-call-errors.ts';

/** The service's answer broke off after its headers had gone out. */
export class CutOffError extends Error {
  override readonly name = 'CutOffError';
}

/** The gateway's answer to what went wrong; null where only cutting the connection says it right. */
export function toAnswer(error: unknown): AppError | null {
  if (
    error instanceof CutOffError ||
    error instanceof CallAbortedError ||
    error instanceof BodyStalledError
  ) {
    return null;
  }
  if (error instanceof ServiceTimeoutError) return new AppError('service_timeout', { cause: error });
  if (error instanceof ServiceCallError) {
    return new AppError(isTimeout(error.cause) ? 'service_timeout' : 'service_unreachable', { cause: error });
  }
  return toAppError(error);
}

/**
 * What the service’s part in a call counts as: the status that it answered with; undefined where it failed; `left` where it is not to
 * blame, since the browser left, stopped sending, or sent too much.
 */
export function toServiceStatus({
  serviceStatus,
  failure,
}: Pick<Call, 'serviceStatus' | 'failure'>): number | 'left' | undefined {
  if (serviceStatus !== undefined) return serviceStatus;
  return failure instanceof ServiceCallError || failure instanceof ServiceTimeoutError ? undefined : 'left';
}
