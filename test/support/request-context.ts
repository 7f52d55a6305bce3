import type { RequestContext } from '../../src/http/request-context.ts';

/** The context of a request of which nothing is known yet. */
export const CONTEXT: RequestContext = {
  requestId: 'one',
  trace: null,
  session: undefined,
  token: undefined,
};
