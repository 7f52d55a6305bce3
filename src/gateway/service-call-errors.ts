/** Ours: the browser has left, or the answer is not wanted any more. */
export class CallAbortedError extends Error {
  override readonly name = 'CallAbortedError';
}

/** Out of time by our own clock. */
export class ServiceTimeoutError extends Error {
  override readonly name = 'ServiceTimeoutError';
}

/** The service could not be reached, was too slow, or answered what is not HTTP. */
export class ServiceCallError extends Error {
  override readonly name = 'ServiceCallError';

  constructor(cause: Error) {
    super('the call to the service failed', { cause });
  }
}
