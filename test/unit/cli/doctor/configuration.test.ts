import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { checkCookies } from '../../../../src/cli/doctor/configuration/cookies.ts';
import { checkDemoValues } from '../../../../src/cli/doctor/configuration/demo-values.ts';
import { checkMetrics } from '../../../../src/cli/doctor/configuration/metrics.ts';
import { checkMode } from '../../../../src/cli/doctor/configuration/mode.ts';
import { checkNodeVersion } from '../../../../src/cli/doctor/configuration/node-version.ts';
import { checkProxies } from '../../../../src/cli/doctor/configuration/proxies.ts';
import { checkSessionKeys } from '../../../../src/cli/doctor/configuration/session-keys.ts';
import { BALANCER_SECONDS, checkTimes } from '../../../../src/cli/doctor/configuration.ts';
import { readSettings } from '../../../../src/cli/doctor/settings.ts';
import { soundEnv } from '../../../support/doctor/doctor.ts';

const settings = (env: Record<string, string>) => readSettings({ ...soundEnv, ...env });
const key = (bytes: Iterable<number>) => Buffer.from([...bytes]).toString('base64url');
const counting = Array.from({ length: 32 }, (_, at) => at);

test.each([
  ['20.18.3', 'problem'],
  ['18.20.0', 'problem'],
  ['20.19.0', 'warning'],
  ['21.7.0', 'warning'],
  ['22.12.0', 'ok'],
  ['23.1.0', 'warning'],
  ['24.11.0', 'ok'],
  ['26.0.0', 'warning'],
])('Node %s: %s', (version, status) => {
  expect(checkNodeVersion(version).status).toBe(status);
});

test.each([
  ['the key of an example, which counts', key(counting)],
  ['one that counts down in threes', key(counting.map((at) => 255 - 3 * at))],
  ['one byte over and over', key(counting.map(() => 7))],
  ['a pass phrase', Buffer.from('correct horse battery staple 123').toString('base64url')],
  ['hexadecimal digits', Buffer.from(randomBytes(16).toString('hex')).toString('base64url')],
  ['eight bytes four times', key(counting.map((at) => (at % 8) * 31))],
])('a session key that is %s is a problem', (_, weak) => {
  const verdict = checkSessionKeys(settings({ SESSION_KEYS: `${soundEnv.SESSION_KEYS},${weak}` }));
  expect(verdict.status).toBe('problem');
  expect(verdict.detail).toMatch(/^Key 2 /);
});

test('random session keys are in order', () => {
  const keys = Array.from({ length: 8 }, () => randomBytes(32).toString('base64url')).join(',');
  expect(checkSessionKeys(settings({ SESSION_KEYS: keys })).status).toBe('ok');
});

test('the demo’s secret before a service on another host is a problem', () => {
  const demo = { CLIENT_ID: 'demo-app', CLIENT_SECRET: 'demo-secret' };
  const elsewhere = { ...demo, SERVICE_URL: 'https://service.example.com' };
  expect(checkDemoValues(settings(elsewhere)).status).toBe('problem');
  expect(checkDemoValues(settings({ ...elsewhere, NODE_ENV: 'development' })).status).toBe('problem');
  expect(checkDemoValues(settings(demo)).status).toBe('ok');
});

test.each([
  [{ NODE_ENV: 'production' }, 'ok'],
  [{ NODE_ENV: 'development' }, 'ok'],
  [{ NODE_ENV: 'development', PUBLIC_URL: 'https://app.example.com' }, 'warning'],
  [{ NODE_ENV: 'prod' }, 'warning'],
])('mode of %j: %s', (env, status) => {
  expect(checkMode(settings(env)).status).toBe(status);
});

test.each([
  [{ PUBLIC_URL: 'https://app.example.com' }, 'ok', '__Host-Http-cloakroom'],
  [{ PUBLIC_URL: 'https://app.example.com:8443' }, 'warning', 'another Cloakroom under this host name'],
  [{ PUBLIC_URL: 'http://localhost:3000' }, 'ok', 'One Cloakroom at a time'],
  [{ PUBLIC_URL: 'http://app.example.com', NODE_ENV: 'development' }, 'warning', 'readable on the way'],
  [{ COOKIE_SAMESITE: 'strict' }, 'ok', 'links from other sites arrive signed out'],
])('cookies of %j: %s', (env, status, words) => {
  const verdict = checkCookies(settings(env));
  expect(verdict.status).toBe(status);
  expect(verdict.detail).toContain(words);
});

test.each([
  [{ PUBLIC_URL: 'https://app.example.com' }, 'warning'],
  [{ PUBLIC_URL: 'https://app.example.com', TRUST_PROXY: '1' }, 'ok'],
  [{ PUBLIC_URL: 'http://localhost:3000' }, 'ok'],
])('proxies of %j: %s', (env, status) => {
  expect(checkProxies(settings(env)).status).toBe(status);
});

test.each([
  ['session-times', { SESSION_IDLE_SECONDS: '7200', SESSION_MAX_SECONDS: '3600' }, 'warning'],
  ['session-times', { SESSION_IDLE_SECONDS: '3600', SESSION_MAX_SECONDS: '3600' }, 'ok'],
  ['renewal-time', { REFRESH_AHEAD_SECONDS: '0' }, 'warning'],
  ['renewal-time', { REFRESH_AHEAD_SECONDS: '300' }, 'ok'],
  ['renewal-time', { REFRESH_AHEAD_SECONDS: '301' }, 'warning'],
  ['balancer-times', {}, 'ok'],
  ['balancer-times', { SERVICE_TIMEOUT_SECONDS: '60' }, 'warning'],
  ['balancer-times', { CLIENT_IDLE_SECONDS: '60', TRUST_PROXY: '1' }, 'warning'],
  ['balancer-times', { CLIENT_IDLE_SECONDS: '60' }, 'ok'],
  ['shutdown-time', { SHUTDOWN_SECONDS: '27' }, 'ok'],
  ['shutdown-time', { SHUTDOWN_SECONDS: '28' }, 'warning'],
  ['shutdown-time', { SHUTDOWN_SECONDS: '5', TOKEN_TIMEOUT_SECONDS: '30' }, 'warning'],
  ['shutdown-time', { SHUTDOWN_SECONDS: 'soon' }, 'skipped'],
] as const)('%s of %j: %s', (id, env, status) => {
  expect(checkTimes(settings(env))[id].status).toBe(status);
});

test('the time that balancers give is what deploy/haproxy.cfg gives', async () => {
  const config = await readFile(new URL('../../../../deploy/haproxy.cfg', import.meta.url), 'utf8');
  const seconds = [...config.matchAll(/^\s*timeout (?:client|server) +(\d+)s$/gm)].map(([, each]) =>
    Number(each),
  );
  expect(seconds).toEqual([BALANCER_SECONDS, BALANCER_SECONDS]);
});

test.each([
  [{}, 'ok'],
  [{ METRICS_PORT: '9090' }, 'ok'],
  [{ METRICS_PORT: '9090', HOST: '::1' }, 'ok'],
  [{ METRICS_PORT: '9090', HOST: '0.0.0.0' }, 'warning'],
])('metrics of %j: %s', (env, status) => {
  expect(checkMetrics(settings(env)).status).toBe(status);
});
