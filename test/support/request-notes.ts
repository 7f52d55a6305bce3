import type { RequestContext } from '../../src/http/request-context.ts';

/** Those of a request of which nothing is known yet. */
export const NOTES: RequestContext = {
  requestId: 'one',
  trace: null,
  session: undefined,
  token: undefined,
};
