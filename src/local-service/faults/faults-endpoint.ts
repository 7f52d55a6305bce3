import express, { Router } from 'express';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { refuseMethod } from '../error-responses.ts';
import { readFaultCommand, withoutLeftovers } from './fault-command.ts';
import type { FaultFields, FaultProblem } from './fault-command.ts';
import type { ActiveFault, FaultStore } from './fault-store.ts';
import { LARGEST_FORM, readFormBody, toFormFields } from '../form-body.ts';
import { repeatedName } from '../request-parameters.ts';
import { requireLoopback } from './require-loopback.ts';
import { requireSameOrigin } from './require-same-origin.ts';
import type { FaultsPage } from './faults-page.ts';
import { toQuery } from '../request-query.ts';
import { ServiceError } from '../service-errors.ts';

const FAULTS_PATH = '/_faults';

/**
 * `/_faults`, for callers on this machine: POST sets or clears a fault, DELETE clears one or all, GET shows them. A
 * browser gets a page with a form, everything else JSON.
 */
export function faultsEndpoint(faults: FaultStore, page: FaultsPage, errors: ErrorHandlers): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.use(FAULTS_PATH, requireLoopback(), requireSameOrigin(), (_req, res, next) => {
    // So that the form's post has an Origin to judge by.
    res.set('referrer-policy', 'same-origin');
    next();
  });
  router.get(FAULTS_PATH, async (req, res) => showFaults(faults, page, req, res));
  const read = [readFormBody(), express.json({ limit: LARGEST_FORM })];
  router.post(FAULTS_PATH, read, takeCommand(faults, page, toFields));
  router.delete(FAULTS_PATH, takeCommand(faults, page, toClearing));
  router.all(FAULTS_PATH, refuseMethod('GET, HEAD, POST, DELETE'));
  router.use(answerByAccept(errors));
  return router;
}

/** In the place of all of it where there are no faults: says how there would be. */
export function faultsSwitchedOff(errors: ErrorHandlers): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.all(FAULTS_PATH, () => {
    throw new ServiceError(404, 'PATH_NOT_FOUND', 'Faults are switched off', {
      detail: 'Start the local service with LOCAL_SERVICE_FAULTS=true.',
    });
  });
  router.use(answerByAccept(errors));
  return router;
}

/** How errors are answered: to a person and to a program. */
export interface ErrorHandlers {
  readonly page: ErrorRequestHandler;
  readonly api: ErrorRequestHandler;
}

/** Answers an error in the form that the caller asked for. */
function answerByAccept(errors: ErrorHandlers): ErrorRequestHandler {
  return (error, req, res, next) => {
    errors[isForPerson(req) ? 'page' : 'api'](error, req, res, next);
  };
}

async function showFaults(faults: FaultStore, page: FaultsPage, req: Request, res: Response): Promise<void> {
  const active = await faults.list();
  if (isForPerson(req)) res.send(page(hostOf(req), active));
  else res.json({ faults: active.map(toJson) });
}

function takeCommand(
  faults: FaultStore,
  page: FaultsPage,
  read: (req: Request) => FaultFields | undefined,
): RequestHandler {
  return async (req, res) => {
    const given = read(req);
    const fields = given && isForPerson(req) ? withoutLeftovers(given) : given;
    const reading = fields === undefined ? { problems: [{ text: NOT_FIELDS }] } : readFaultCommand(fields);
    if ('command' in reading) {
      const { command } = reading;
      if (command.kind === 'set') await faults.set(command.fault, fields ?? {});
      else await faults.clear(command.route);
      if (isForPerson(req)) res.status(303).location(`${FAULTS_PATH}#now`).end();
      else await showFaults(faults, page, req, res);
      return;
    }
    const { problems } = reading;
    if (!isForPerson(req)) throw invalidFault(problems);
    res.status(400).send(page(hostOf(req), await faults.list(), { problems, fields: fields ?? {} }));
  };
}

function invalidFault(problems: readonly FaultProblem[]): ServiceError {
  return new ServiceError(400, 'FAULT_INVALID', problems.map(({ text }) => text).join('; '));
}

function hostOf(req: Request): string {
  return req.get('host') ?? '';
}

/** Whether a page is wanted; what accepts anything is a program. */
function isForPerson(req: Request): boolean {
  return req.accepts(['json', 'html']) === 'html';
}

const NOT_FIELDS = 'the body must be a form or a JSON object of texts and numbers, each field once';

/** The fields of a form or of a JSON object; undefined where it is neither. */
function toFields({ body }: { readonly body?: unknown }): FaultFields | undefined {
  const form = toFormFields(body);
  if (form !== undefined) return repeatedName(form) === undefined ? Object.fromEntries(form) : undefined;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === 'string' || typeof value === 'number') fields[name] = String(value);
    // The body that is to be answered with may stand there as it is.
    else if (name === 'body') fields[name] = toJsonText(value);
    else return undefined;
  }
  return fields;
}

/** Throws 400 for what is nested too deeply. */
function toJsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new ServiceError(400, 'FAULT_INVALID', 'body is nested too deeply', { cause });
  }
}

/** What DELETE asks for in its query, in the fields of a form. */
function toClearing(req: Request): FaultFields | undefined {
  const query = toQuery(req);
  return repeatedName(query) === undefined ? { ...Object.fromEntries(query), fault: 'none' } : undefined;
}

/** In the names of the fields that set it. */
function toJson({ fault, callsLeft }: ActiveFault): object {
  const { kind, calls: _, latencyMs, ...rest } = fault;
  return {
    fault: kind,
    ...rest,
    ...(latencyMs > 0 && { latencyMs }),
    ...(callsLeft !== undefined && { callsLeft }),
  };
}
