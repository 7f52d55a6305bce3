import { request } from 'undici';
import { fromDist } from '../support/compiled.mjs';
import { INCOMPLETE_RESPONSE, NO_RESPONSE } from './browser.mjs';
import { INCOMPLETE_EXPORT } from './outcomes.mjs';

const { PROBLEMS } = /** @type {typeof import('../../src/errors.ts')} */ (await fromDist('errors.js'));

/** The faults that the soak test injects, and the outcomes that each accounts for. */

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/**
 * @typedef {object} Fault
 * @property {string} name
 * @property {readonly string[]} explains the outcomes that the fault explains
 * @property {boolean} [losesTokens] whether the fault may lose the response with a refreshed token and so, with rotation, the session
 * @property {number} recoveryMs maximum time from the end of the fault until Cloakroom has recovered
 * @property {(testApp: TestApp) => Promise<unknown> | void} begin
 * @property {number} [durationMs] absent if the fault has ended when `begin` resolves
 * @property {(testApp: TestApp) => Promise<unknown> | void} [end]
 */

export const DURATION_MS = 3_000;
/** The recovery time after faults without lasting effects. A fault's window also covers requests still in flight when the fault ends. */
const SHORT_RECOVERY_MS = 2_000;
/** A refresh that starts just before the end of a fault may take five seconds to time out, and other requests wait for it. */
const LONG_RECOVERY_MS = 8_000;

/**
 * Returns the outcome of a page that reports a problem.
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
  INCOMPLETE_EXPORT,
];
const NO_STORE = ['503 session_store_unavailable', page('session_store_unavailable'), INCOMPLETE_EXPORT];
const UNREACHABLE = ['502 service_unreachable', page('service_unreachable'), INCOMPLETE_EXPORT];

/** The list of workspaces gives `service_failed` a title of its own. */
const WORKSPACES_FAILED = '502 “Your workspaces can’t be loaded”';

/** @type {readonly Fault[]} */
const FAULTS = [
  serviceFault(
    'the service responds 500',
    ['500 forwarded', page('service_failed'), WORKSPACES_FAILED, '500 from the service', ...NO_TOKEN],
    { route: 'any', fault: 'status', status: 500 },
    { recoveryMs: LONG_RECOVERY_MS },
  ),
  serviceFault('list requests are reset', UNREACHABLE, { route: 'workspaces', fault: 'reset-before' }),
  serviceFault('list responses are cut off', [...UNREACHABLE, INCOMPLETE_RESPONSE], {
    route: 'workspaces',
    fault: 'cut',
  }),
  serviceFault(
    'list requests time out',
    ['504 service_timeout', page('service_timeout'), INCOMPLETE_EXPORT],
    { route: 'workspaces', fault: 'latency', latencyMs: 14_000 },
  ),
  serviceFault('list responses are slow', [], { route: 'workspaces', fault: 'latency', latencyMs: 500 }),
  serviceFault(
    'list requests exceed the rate limit',
    ['429 forwarded', page('service_rate_limited'), INCOMPLETE_EXPORT],
    { route: 'workspaces', fault: 'rate-limit' },
  ),
  serviceFault(
    'access tokens are revoked',
    // The fault may also revoke a token that has just been refreshed. Its session then gets no new token until this one expires.
    ['401 forwarded', page('service_refuses_sign_in'), INCOMPLETE_EXPORT],
    { route: 'workspaces', fault: 'access-token-revoked', calls: 10 },
    { recoveryMs: LONG_RECOVERY_MS }, // exceeds the lifetime of a token
  ),
  tokenFault('the token endpoint responds 500', NO_TOKEN, { fault: 'status', status: 500 }),
  tokenFault('token requests time out', NO_TOKEN, { fault: 'latency', latencyMs: 9_000 }, true),
  tokenFault('token responses are slow', [], { fault: 'latency', latencyMs: 1_000 }),
  tokenFault('token responses are lost', NO_TOKEN, { fault: 'reset-after' }, true),
  {
    name: 'Redis is paused',
    explains: NO_STORE,
    recoveryMs: LONG_RECOVERY_MS,
    begin: async (testApp) => testApp.pauseStore(),
    durationMs: DURATION_MS,
    end: async (testApp) => testApp.resumeStore(),
  },
  {
    name: 'Redis is killed',
    explains: NO_STORE,
    recoveryMs: LONG_RECOVERY_MS,
    begin: async (testApp) => testApp.killStore(),
    durationMs: DURATION_MS,
    end: async (testApp) => testApp.restartStore(),
  },
  {
    name: 'session keys are rotated',
    explains: [],
    recoveryMs: SHORT_RECOVERY_MS,
    begin: async (testApp) => testApp.rotateSessionKeys(),
  },
  {
    name: 'a process is replaced',
    explains: [], // the load balancer hides the replacement from clients
    recoveryMs: SHORT_RECOVERY_MS,
    begin: async (testApp) => replaceGracefully(testApp),
  },
  {
    name: 'a process is killed',
    explains: ['502 “502 Bad Gateway”', NO_RESPONSE, INCOMPLETE_RESPONSE, INCOMPLETE_EXPORT],
    losesTokens: true,
    recoveryMs: LONG_RECOVERY_MS,
    begin: async (testApp) => testApp.replace(2, 'SIGKILL'),
  },
];

/**
 * Returns all faults.
 * @param {() => boolean} rotates whether the service rotates refresh tokens from its next start on
 * @returns {readonly Fault[]}
 */
export function createFaults(rotates) {
  return [...FAULTS, serviceKilled(rotates)];
}

/**
 * Creates a fault that the local service simulates.
 * @param {string} name
 * @param {readonly string[]} explains
 * @param {Record<string, unknown>} fault the body of a POST to the local service's `/_faults`
 * @param {Partial<Fault>} [more]
 * @returns {Fault}
 */
function serviceFault(name, explains, fault, more) {
  /** @param {TestApp} testApp @param {import('undici').Dispatcher.HttpMethod} method @param {string} [body] */
  const send = async ({ serviceUrl }, method, body) => {
    const headers = { 'content-type': 'application/json' };
    const response = await request(`${serviceUrl}/_faults`, { method, headers, ...(body && { body }) });
    const text = await response.body.text();
    if (response.statusCode >= 400) throw new Error(`The local service refused the fault: ${text}`);
  };
  return {
    name,
    explains,
    recoveryMs: SHORT_RECOVERY_MS,
    begin: async (testApp) => send(testApp, 'POST', JSON.stringify(fault)),
    durationMs: DURATION_MS,
    end: async (testApp) => send(testApp, 'DELETE'),
    ...more,
  };
}

/**
 * @param {string} name
 * @param {readonly string[]} explains
 * @param {Record<string, unknown>} fault
 * @param {boolean} [losesTokens]
 */
function tokenFault(name, explains, fault, losesTokens = false) {
  const more = { recoveryMs: LONG_RECOVERY_MS, losesTokens };
  return serviceFault(name, explains, { route: 'token', ...fault }, more);
}

/**
 * @param {() => boolean} rotates whether the service rotates refresh tokens after its restart
 * @returns {Fault}
 */
function serviceKilled(rotates) {
  return {
    name: 'the service is killed',
    explains: [...UNREACHABLE, ...NO_TOKEN, NO_RESPONSE, INCOMPLETE_RESPONSE],
    losesTokens: true,
    recoveryMs: LONG_RECOVERY_MS,
    begin: async (testApp) => testApp.killService(),
    durationMs: DURATION_MS,
    end: async (testApp) => testApp.restartService(rotates()),
  };
}

/** @param {TestApp} testApp */
async function replaceGracefully(testApp) {
  const code = await testApp.replace(1, 'SIGTERM');
  if (code !== 0) throw new Error(`A process exited with code ${code} after SIGTERM.`);
}
