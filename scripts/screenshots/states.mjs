import { signIn } from '../running-demo.mjs';
import * as consoles from './console-actions.mjs';
import * as lists from './list-actions.mjs';
import * as sessions from './session-actions.mjs';

/**
 * A page or one of its states.
 * @typedef {object} State
 * @property {string} name Prefix of its screenshot file names.
 * @property {string} [path] On the Cloakroom origin. If absent, `act` opens the page.
 * @property {boolean} [signedOut]
 * @property {boolean} [javaScript] By default true.
 * @property {Readonly<Record<string, unknown>>} [fault] The local service fault to set before the page is opened.
 * @property {(page: import('playwright-core').Page, demo: import('../running-demo.mjs').RunningDemo) => Promise<unknown>} [act]
 *   User actions that produce the state.
 * @property {readonly import('./looks.mjs').LookName[]} [looks] All by default. Short-lived states have fewer.
 * @property {string} [about] The selector of an element to scroll to.
 * @property {boolean} [whole] Whether the screenshots show the full page instead of one screen.
 * @property {string} [docs] The name of the first screenshot in docs/images.
 */

const INSIDE = '/workspaces/workspace5733149';
const EXPORTS = '[data-export-progress]';
const EVERY_LIST = { route: 'workspaces', fault: 'status', status: 200 };
const SLOW_LISTS = { route: 'workspaces', fault: 'latency', latencyMs: 6_000 };

/** @type {readonly State[]} */
export const STATES = [
  { name: 'landing', path: '/', signedOut: true, whole: true },
  { name: 'no-such-page-signed-out', path: '/nowhere', signedOut: true },
  { name: 'access-denied', signedOut: true, act: async (page, { address }) => signIn(page, address, 'Deny') },
  { name: 'sign-in-not-started', path: '/auth/callback?state=x&code=y', signedOut: true },

  { name: 'workspaces', path: '/workspaces', docs: 'workspaces' },
  { name: 'page-2', path: '/workspaces?limit=10&page=2', whole: true },
  { name: 'workspaces-without-javascript', path: '/workspaces', javaScript: false },
  { name: 'details', path: '/workspaces', act: lists.openDetails },
  { name: 'past-the-end', path: '/workspaces?page=50' },
  { name: 'empty-list', path: '/workspaces', fault: { ...EVERY_LIST, body: { value: [] } } },
  {
    name: 'one-item',
    path: '/workspaces',
    fault: { ...EVERY_LIST, body: { value: [{ id: 'w1', name: 'Only one', createdOn: 1.7e12 }] } },
  },
  { name: 'hostile-items', path: '/workspaces', fault: { ...EVERY_LIST, body: lists.HOSTILE }, whole: true },

  { name: 'found', path: '/workspaces?find=design' },
  { name: 'nothing-found', path: '/workspaces?find=no+such+words' },
  { name: 'filter-typed', path: '/workspaces', act: lists.filter('lab') },
  { name: 'filter-matches-nothing', path: '/workspaces', act: lists.filter('no such words') },
  { name: 'loading-all', path: '/workspaces?limit=10', act: lists.loadSome },
  { name: 'all-loaded', path: '/workspaces?limit=100', act: lists.loadAll },
  {
    name: 'export-in-progress',
    path: '/workspaces',
    fault: SLOW_LISTS,
    act: lists.exportSlowly,
    about: EXPORTS,
  },
  { name: 'export-done', path: '/workspaces', act: lists.exportAll, about: EXPORTS },
  { name: 'export-failed', path: '/workspaces', act: lists.failExport, about: EXPORTS },

  { name: 'inside-a-workspace', path: INSIDE, act: lists.openDetails, docs: 'workspace' },
  { name: 'about-a-workspace', path: `${INSIDE}?back=page%3D3`, act: lists.openAbout },
  { name: 'murals', path: `${INSIDE}/murals?limit=10&page=2`, whole: true },
  { name: 'nothing-inside', path: INSIDE, fault: { ...EVERY_LIST, route: 'rooms', body: { value: [] } } },
  { name: 'nothing-found-inside', path: `${INSIDE}/murals?find=no+such+words` },
  { name: 'no-such-workspace', path: '/workspaces/nowhere' },
  { name: 'no-such-page', path: '/nowhere' },

  {
    name: 'service-error',
    path: '/workspaces?page=2',
    fault: { route: 'workspaces', fault: 'status', status: 500 },
  },
  { name: 'service-refuses', path: '/workspaces', fault: { ...EVERY_LIST, status: 403 } },
  { name: 'service-unreachable', path: '/workspaces', fault: { route: 'workspaces', fault: 'reset-before' } },
  {
    name: 'too-many-requests',
    path: '/workspaces?page=2',
    fault: { route: 'workspaces', fault: 'rate-limit', retryAfter: 72 },
  },
  { name: 'try-again-now', path: '/workspaces?page=2', act: lists.waitToTryAgain },
  { name: 'slow-page', path: '/workspaces', act: lists.followSlowly },

  { name: 'session-about-to-idle-out', path: '/workspaces', act: sessions.approachIdleEnd },
  { name: 'session-about-to-expire', path: '/workspaces', act: sessions.approachExpiry },
  {
    name: 'still-signed-in',
    path: '/workspaces',
    act: sessions.staySignedIn,
    looks: ['desk-light', 'phone-dark'],
  },
  { name: 'session-ended', path: '/workspaces', act: sessions.endSession },
  { name: 'signed-out-in-another-tab', signedOut: true, act: sessions.signOutInAnotherTab },
  { name: 'signed-in-again-in-another-tab', path: '/workspaces', act: sessions.becomeAnotherSession },
  { name: 'checking-the-session', path: '/workspaces', act: sessions.comeBackFromMemory },
  { name: 'offline', path: '/workspaces', act: sessions.goOffline },

  { name: 'console', path: '/console', whole: true },
  { name: 'console-response', path: '/console', act: consoles.sendFirst },
  { name: 'console-response-whole', path: '/console', act: consoles.sendFirst, whole: true, docs: 'console' },
  { name: 'console-headers', path: '/console', act: consoles.showHeaders, whole: true },
  { name: 'console-invalid-request', path: '/console', act: consoles.composeInvalidRequest, whole: true },
  { name: 'console-refused', path: '/console', act: consoles.send('/api/private/v1/keys'), whole: true },
  { name: 'console-not-found', path: '/console', act: consoles.send('/api/public/v1/nothing'), whole: true },
  {
    name: 'console-replayed',
    path: '/console',
    fault: { route: 'workspaces', fault: 'access-token-revoked', calls: 1 },
    act: consoles.sendFirst,
    whole: true,
  },
  { name: 'console-refreshed', path: '/console', act: consoles.sendRefreshed, whole: true },
  { name: 'console-signed-out', path: '/console', act: consoles.sendSignedOut, whole: true },
  {
    name: 'console-hostile-json',
    path: '/console',
    fault: { ...EVERY_LIST, body: lists.HOSTILE },
    act: consoles.sendFirst,
    whole: true,
  },
  { name: 'console-history', path: '/console', act: consoles.fillFromHistory, whole: true },
  { name: 'console-copied', path: '/console', act: consoles.copyAsFetch, whole: true },
  { name: 'console-request-in-progress', path: '/console', fault: SLOW_LISTS, act: consoles.beginToSend },
  { name: 'console-without-javascript', path: '/console', javaScript: false, whole: true },
  { name: 'guide', path: '/console/guide', whole: true },

  { name: 'faults-of-the-local-service', signedOut: true, act: lists.setFaultByHand, docs: 'faults' },

  // This state must be last, because no user can sign in afterwards.
  { name: 'too-many-sign-ins', signedOut: true, act: sessions.signInTooOften },
];
