import express, { Router, type Request, type RequestHandler, type Response } from 'express';
import { isLoopback } from '../../config/schema.ts';
import { passesCrossSiteCheck } from '../../http/cross-site.ts';
import type { Render } from '../../http/templates.ts';
import { ServiceError, refuseMethod, type ErrorHandlers } from '../error-responses.ts';
import {
  MAX_BODY_SIZE,
  formFields,
  hasRepeatedName,
  queryParameters,
  readForm,
} from '../request-parameters.ts';
import { readFaultCommand, withoutOtherFields, type FaultFields } from './fault.ts';
import type { ActiveFault, FaultStore } from './fault-store.ts';
import { createFaultsPage, type FaultsPage } from './faults-page.ts';

const FAULTS_PATH = '/_faults';

/**
 * Serves `/_faults` to clients on this machine: POST sets or clears a fault, DELETE clears one or all faults, and GET lists the
 * active faults. Browsers get a page with a form; other clients get JSON.
 */
export function faultsEndpoint(faults: FaultStore, render: Render, errors: ErrorHandlers): Router {
  const page = createFaultsPage(render);
  const router = Router({ strict: true, caseSensitive: true });
  router.use(FAULTS_PATH, requireLoopback, requireSameOrigin, (_req, res, next) => {
    // With a stricter referrer policy, the form's own POST would send `Origin: null`.
    res.set('referrer-policy', 'same-origin');
    next();
  });
  router.get(FAULTS_PATH, async (req, res) => showFaults(faults, page, req, res));
  const readBody = [readForm(), express.json({ limit: MAX_BODY_SIZE })];
  router.post(FAULTS_PATH, readBody, changeFaults(faults, page, fieldsOfBody));
  router.delete(FAULTS_PATH, changeFaults(faults, page, fieldsOfDelete));
  router.all(FAULTS_PATH, refuseMethod('GET, HEAD, POST, DELETE'));
  router.use(errorsByAccept(errors));
  return router;
}

/** Responds to requests for `/_faults` with a 404 that explains how to enable faults. */
export function faultsSwitchedOff(errors: ErrorHandlers): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.all(FAULTS_PATH, () => {
    throw new ServiceError(404, 'PATH_NOT_FOUND', 'Faults are switched off', {
      detail: 'Start the local service with LOCAL_SERVICE_FAULTS=true.',
    });
  });
  router.use(errorsByAccept(errors));
  return router;
}

/** Sends errors to browsers as pages, and to other clients as JSON. */
function errorsByAccept(errors: ErrorHandlers): express.ErrorRequestHandler {
  return (error, req, res, next) => {
    errors[wantsPage(req) ? 'page' : 'api'](error, req, res, next);
  };
}

/** Returns whether the client prefers HTML. A client that accepts any type is assumed to be a program and gets JSON. */
function wantsPage(req: Request): boolean {
  return req.accepts(['json', 'html']) === 'html';
}

const LOOPBACK_ADDRESS = /^(?:::1|(?:::ffff:)?127\.\d+\.\d+\.\d+)$/;
/** Names of headers that proxies and content delivery networks add. */
const PROXY_HEADER = /^(?:via|cdn-loop)$|forwarded|(?:client|real|connecting)-ip|external-address/;
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/**
 * Refuses requests from other machines, whether direct or through a proxy that adds a header. Also refuses requests from a page
 * whose domain an attacker has pointed at this machine (DNS rebinding).
 */
const requireLoopback: RequestHandler = (req, _res, next) => {
  const host = hostOf(req);
  const isLocal =
    LOOPBACK_ADDRESS.test(req.socket.remoteAddress ?? '') &&
    !Object.keys(req.headers).some((name) => PROXY_HEADER.test(name)) &&
    HOST.test(host) &&
    isLoopback(`http://${host}`);
  if (!isLocal)
    throw new ServiceError(403, 'LOOPBACK_ONLY', 'Only clients on this machine may use this path');
  next();
};

/** Refuses changes requested by a page from another origin. GET changes nothing, so other sites may link to this page. */
const requireSameOrigin: RequestHandler = ({ method, headers }, _res, next) => {
  const isSafe = method === 'GET' || method === 'HEAD';
  // Browsers send at least one of these headers with every unsafe request.
  const isProgram = headers.origin === undefined && headers['sec-fetch-site'] === undefined;
  if (!isSafe && !isProgram && !passesCrossSiteCheck(method, headers, `http://${headers.host ?? ''}`))
    throw new ServiceError(403, 'CROSS_SITE', 'This request came from another site');
  next();
};

async function showFaults(faults: FaultStore, page: FaultsPage, req: Request, res: Response): Promise<void> {
  const active = await faults.list();
  if (wantsPage(req)) res.send(page(hostOf(req), active));
  else res.json({ faults: active.map(toJson) });
}

const NOT_FIELDS = 'the body must be a form or a JSON object of strings and numbers, each field once';

function changeFaults(
  faults: FaultStore,
  page: FaultsPage,
  readFields: (req: Request) => FaultFields | undefined,
): RequestHandler {
  return async (req, res) => {
    const given = readFields(req);
    const fields = given && wantsPage(req) ? withoutOtherFields(given) : given;
    const reading = fields === undefined ? { problems: [{ text: NOT_FIELDS }] } : readFaultCommand(fields);
    if ('problems' in reading) {
      const { problems } = reading;
      if (!wantsPage(req))
        throw new ServiceError(400, 'FAULT_INVALID', problems.map(({ text }) => text).join('; '));
      res.status(400).send(page(hostOf(req), await faults.list(), { problems, fields: fields ?? {} }));
      return;
    }
    const { command } = reading;
    if (command.kind === 'set') await faults.set(command.fault, fields ?? {});
    else await faults.clear(command.route);
    if (wantsPage(req)) res.status(303).location(`${FAULTS_PATH}#now`).end();
    else await showFaults(faults, page, req, res);
  };
}

function hostOf(req: Request): string {
  return req.get('host') ?? '';
}

/** Returns the fields of a form or JSON object; undefined for any other body. */
function fieldsOfBody({ body }: { readonly body?: unknown }): FaultFields | undefined {
  const form = formFields(body);
  if (form !== undefined) return hasRepeatedName(form) ? undefined : Object.fromEntries(form);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const fields: Record<string, string> = {};
  for (const [name, value] of Object.entries(body)) {
    if (typeof value === 'string' || typeof value === 'number') fields[name] = String(value);
    // The response body for a fault may be given as a JSON value.
    else if (name === 'body') fields[name] = toJsonText(value);
    else return undefined;
  }
  return fields;
}

/** Returns a value as JSON text. Throws a 400 error if the value is nested too deeply. */
function toJsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new ServiceError(400, 'FAULT_INVALID', 'body is nested too deeply', { cause });
  }
}

/** Translates the query of a DELETE into the equivalent form fields. */
function fieldsOfDelete(req: Request): FaultFields | undefined {
  const query = queryParameters(req);
  return hasRepeatedName(query) ? undefined : { ...Object.fromEntries(query), fault: 'none' };
}

/** Returns an active fault as an object, with the same field names as in a request that sets the fault. */
function toJson({ fault, callsLeft }: ActiveFault): object {
  const { kind, calls: _, latencyMs, ...rest } = fault;
  return {
    fault: kind,
    ...rest,
    ...(latencyMs > 0 && { latencyMs }),
    ...(callsLeft !== undefined && { callsLeft }),
  };
}
