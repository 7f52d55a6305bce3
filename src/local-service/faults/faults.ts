import { Router } from 'express';
import type { ErrorRequestHandler } from 'express';
import type { Logger } from '../../observability/logger.ts';
import type { Render } from '../../http/templates.ts';
import { AUTHORIZATION_PATH, TOKEN_PATH } from '../service-paths.ts';
import type { FaultParts } from './apply-fault.ts';
import type { FaultStore } from './fault-store.ts';
import { faultsEndpoint } from './faults-endpoint.ts';
import type { ErrorHandlers } from './faults-endpoint.ts';
import { createFaultsPage } from './faults-page.ts';
import { injectFaults } from './inject-faults.ts';

/** How errors are answered: to a person, to a caller of the API, and at the token endpoint. */
interface AllErrorHandlers extends ErrorHandlers {
  readonly token: ErrorRequestHandler;
}

/** LOCAL_SERVICE_FAULTS: a router in front of the endpoints, with `/_faults` and the faults that are set there. */
export function faultsInFront(
  faults: FaultStore,
  parts: FaultParts,
  render: Render,
  errors: AllErrorHandlers,
  log: Logger,
): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.use(injectFaults(faults, parts, log));
  // Redis away: answered as the endpoint would.
  const answerError: ErrorRequestHandler = (error, req, res, next) => {
    const kind = req.path === TOKEN_PATH ? 'token' : req.path === AUTHORIZATION_PATH ? 'page' : 'api';
    errors[kind](error, req, res, next);
  };
  router.use(answerError);
  router.use(faultsEndpoint(faults, createFaultsPage(render), errors));
  return router;
}
