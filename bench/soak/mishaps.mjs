import { request } from 'undici';
import { fromDist } from '../support/compiled.mjs';
import { HALF_AN_EXPORT } from './outcomes.mjs';

const { PROBLEMS } = /** @type {typeof import('../../src/errors.ts')} */ (await fromDist('errors.js'));

/** What goes wrong on purpose, and exactly which outcomes that explains. */

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/**
 * @typedef {object} Mishap
 * @property {string} name
 * @property {readonly string[]} allows Outcomes, word by word.
 * @property {boolean} [losesTokens] Whether a renewed token may die on its way; where they rotate, its session with it.
 * @property {number} recoveryMs From its end until everything must be as ever.
 * @property {(testApp: TestApp) => Promise<unknown> | void} begin
 * @property {number} [lastsMs] without: for as long as `begin` takes
 * @property {(testApp: TestApp) => Promise<unknown> | void} [end]
 */

export const LASTS_MS = 3_000;
/** For what nobody remembers: what was asked before its end is explained by when it was asked. */
const SOON_MS = 2_000;
/** A renewal that was begun at the last moment may take the five seconds of its time-out, and others wait for it. */
const LATER_MS = 8_000;

/**
 * The outcome of a page that shows a problem.
 * @param {import('../../src/errors.ts').ProblemCode} code
 */
function page(code) {
  const { status, title } = PROBLEMS[code];
  return `${status} “${title}”`;
}

const NO_TOKEN = [
  '503 token_endpoint_unavailable',
  page('token_endpoint_unavailable'),
  page('code_exchange_failed'),
  HALF_AN_EXPORT,
];
const NO_STORE = ['503 session_store_unavailable', page('session_store_unavailable'), HALF_AN_EXPORT];
const UNREACHABLE = ['502 service_unreachable', page('service_unreachable'), HALF_AN_EXPORT];

/** @type {readonly Mishap[]} */
const MISHAPS = [
  ofService(
    'the service answers 500',
    ['500 passed on', page('service_failed'), '500 of the service', ...NO_TOKEN],
    { route: 'any', fault: 'status', status: 500 },
    { recoveryMs: LATER_MS },
  ),
  ofService('lists are reset', UNREACHABLE, { route: 'workspaces', fault: 'reset-before' }),
  ofService('lists are cut off', [...UNREACHABLE, 'half an answer'], { route: 'workspaces', fault: 'cut' }),
  ofService('lists hang', ['504 service_timeout', page('service_timeout'), HALF_AN_EXPORT], {
    route: 'workspaces',
    fault: 'latency',
    latencyMs: 14_000,
  }),
  ofService('lists are late', [], { route: 'workspaces', fault: 'latency', latencyMs: 500 }),
  ofService('too many requests', ['429 passed on', page('service_rate_limited'), HALF_AN_EXPORT], {
    route: 'workspaces',
    fault: 'rate-limit',
  }),
  ofService(
    'access tokens are revoked',
    // A call whose repetition was refused as well.
    ['401 passed on', page('service_refuses_sign_in'), HALF_AN_EXPORT],
    { route: 'workspaces', fault: 'access-token-revoked', calls: 10 },
  ),
  ofToken('token endpoint answers 500', NO_TOKEN, { fault: 'status', status: 500 }),
  ofToken('token endpoint hangs', NO_TOKEN, { fault: 'latency', latencyMs: 9_000 }, true),
  ofToken('token endpoint is late', [], { fault: 'latency', latencyMs: 1_000 }),
  ofToken('token answers are lost', NO_TOKEN, { fault: 'reset-after' }, true),
  {
    name: 'Redis is stopped',
    allows: NO_STORE,
    recoveryMs: LATER_MS,
    begin: async (testApp) => testApp.pauseStore(),
    lastsMs: LASTS_MS,
    end: async (testApp) => testApp.resumeStore(),
  },
  {
    name: 'Redis is killed',
    allows: NO_STORE,
    recoveryMs: LATER_MS,
    begin: async (testApp) => testApp.killStore(),
    lastsMs: LASTS_MS,
    end: async (testApp) => testApp.reviveStore(),
  },
  {
    name: 'session keys are replaced',
    allows: [],
    recoveryMs: SOON_MS,
    begin: async (testApp) => testApp.replaceSessionKeys(),
  },
  {
    name: 'a process is replaced',
    allows: [], // behind this balancer nobody notices
    recoveryMs: SOON_MS,
    begin: async (testApp) => replaceGently(testApp),
  },
  {
    name: 'a process is killed',
    allows: ['502 “502 Bad Gateway”', 'no answer', 'half an answer', HALF_AN_EXPORT],
    losesTokens: true,
    recoveryMs: LATER_MS,
    begin: async (testApp) => testApp.replace(2, 'SIGKILL'),
  },
];

/**
 * Every kind there is.
 * @param {() => boolean} rotates whether refresh tokens work once from the next start of the service on
 * @returns {readonly Mishap[]}
 */
export function mishaps(rotates) {
  return [...MISHAPS, serviceIsKilled(rotates)];
}

/**
 * @param {string} name
 * @param {readonly string[]} allows
 * @param {Record<string, unknown>} fault as the local service's `/_faults` takes it
 * @param {Partial<Mishap>} [more]
 * @returns {Mishap}
 */
function ofService(name, allows, fault, more) {
  /** @param {TestApp} testApp @param {import('undici').Dispatcher.HttpMethod} method @param {string} [body] */
  const tell = async ({ serviceUrl }, method, body) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await request(`${serviceUrl}/_faults`, { method, headers, ...(body && { body }) });
    const text = await answer.body.text();
    if (answer.statusCode >= 400) throw new Error(`the service takes no such fault: ${text}`);
  };
  return {
    name,
    allows,
    recoveryMs: SOON_MS,
    begin: async (testApp) => tell(testApp, 'POST', JSON.stringify(fault)),
    lastsMs: LASTS_MS,
    end: async (testApp) => tell(testApp, 'DELETE'),
    ...more,
  };
}

/**
 * @param {string} name
 * @param {readonly string[]} allows
 * @param {Record<string, unknown>} fault
 * @param {boolean} [losesTokens]
 */
function ofToken(name, allows, fault, losesTokens = false) {
  return ofService(name, allows, { route: 'token', ...fault }, { recoveryMs: LATER_MS, losesTokens });
}

/**
 * @param {() => boolean} rotates whether refresh tokens work once from then on
 * @returns {Mishap}
 */
function serviceIsKilled(rotates) {
  return {
    name: 'the service is killed',
    allows: [...UNREACHABLE, ...NO_TOKEN, 'no answer', 'half an answer'],
    losesTokens: true,
    recoveryMs: LATER_MS,
    begin: async (testApp) => testApp.killService(),
    lastsMs: LASTS_MS,
    end: async (testApp) => testApp.reviveService(rotates()),
  };
}

/** @param {TestApp} testApp */
async function replaceGently(testApp) {
  const code = await testApp.replace(1, 'SIGTERM');
  if (code !== 0) throw new Error(`a process that was asked to end did so with ${code}`);
}
