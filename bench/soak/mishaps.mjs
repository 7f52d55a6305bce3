import { request } from 'undici';
import { fromDist } from '../support/compiled.mjs';
import { HALF_AN_EXPORT } from './outcomes.mjs';

const { PROBLEMS } = /** @type {typeof import('../../src/errors.ts')} */ (await fromDist('errors.js'));

/** The mishaps, and the outcomes that each explains. */

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/**
 * @typedef {object} Mishap
 * @property {string} name
 * @property {readonly string[]} allows the outcomes that it explains
 * @property {boolean} [losesTokens] whether a refreshed token may be lost on the way; with rotation, its session with it
 * @property {number} recoveryMs from its end until everything must work again
 * @property {(testApp: TestApp) => Promise<unknown> | void} begin
 * @property {number} [lastsMs] absent for one that ends with `begin`
 * @property {(testApp: TestApp) => Promise<unknown> | void} [end]
 */

export const LASTS_MS = 3_000;
/** Recovery from a mishap without lasting effects. A request from before its end is explained by its time. */
const SOON_MS = 2_000;
/** A refresh that began at the last moment may take its five seconds of timeout, and other requests wait for it. */
const LATER_MS = 8_000;

/**
 * Returns the outcome of a page with a problem.
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
    'the service responds 500',
    ['500 passed on', page('service_failed'), '500 of the service', ...NO_TOKEN],
    { route: 'any', fault: 'status', status: 500 },
    { recoveryMs: LATER_MS },
  ),
  ofService('lists are reset', UNREACHABLE, { route: 'workspaces', fault: 'reset-before' }),
  ofService('lists are cut off', [...UNREACHABLE, 'half a response'], { route: 'workspaces', fault: 'cut' }),
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
    // A request whose repetition was refused, too.
    ['401 passed on', page('service_refuses_sign_in'), HALF_AN_EXPORT],
    { route: 'workspaces', fault: 'access-token-revoked', calls: 10 },
  ),
  ofToken('token endpoint responds 500', NO_TOKEN, { fault: 'status', status: 500 }),
  ofToken('token endpoint hangs', NO_TOKEN, { fault: 'latency', latencyMs: 9_000 }, true),
  ofToken('token endpoint is late', [], { fault: 'latency', latencyMs: 1_000 }),
  ofToken('token responses are lost', NO_TOKEN, { fault: 'reset-after' }, true),
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
    allows: ['502 “502 Bad Gateway”', 'no response', 'half a response', HALF_AN_EXPORT],
    losesTokens: true,
    recoveryMs: LATER_MS,
    begin: async (testApp) => testApp.replace(2, 'SIGKILL'),
  },
];

/**
 * Returns all mishaps.
 * @param {() => boolean} rotates whether refresh tokens rotate from the next start of the service on
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
    const response = await request(`${serviceUrl}/_faults`, { method, headers, ...(body && { body }) });
    const text = await response.body.text();
    if (response.statusCode >= 400) throw new Error(`the service takes no such fault: ${text}`);
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
 * @param {() => boolean} rotates whether refresh tokens rotate from then on
 * @returns {Mishap}
 */
function serviceIsKilled(rotates) {
  return {
    name: 'the service is killed',
    allows: [...UNREACHABLE, ...NO_TOKEN, 'no response', 'half a response'],
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
