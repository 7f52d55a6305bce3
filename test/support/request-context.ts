import type { RequestContext } from '../../src/http/request-context.ts';

/** The context of a new request. */
export const CONTEXT: RequestContext = {
  requestId: 'one',
  trace: null,
  session: undefined,
  token: undefined,
};
