import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { envOf, runDoctor, finding } from '../../../support/doctor/doctor.ts';
import { useTestApp } from '../../../support/fixtures.ts';
import { freePort } from '../../../support/fleet/free-port.ts';
import { startTcpServer } from '../../../support/tcp-server.ts';
import { startUnresponsivePort } from '../../../support/unresponsive-port.ts';

const testApp = useTestApp();
let env: Record<string, string>;

beforeAll(async () => {
  env = envOf(testApp);
});

beforeEach(() => {
  testApp.intercept = () => false;
});

/** Makes the service send this response to every request. */
function respond(status: number, body: string): void {
  testApp.intercept = (_req, res) => {
    res.writeHead(status).end(body);
    return true;
  };
}

test('if the app is registered with the service, every check passes and leaves nothing behind in Redis', async () => {
  const before = await testApp.redis.dbsize();
  const findingOf = await runDoctor(env);
  for (const id of ['reachable', 'token-endpoint', 'credentials', 'sign-in', 'redirect-uri']) {
    expect(findingOf(`service-${id}`).status).toBe('ok');
  }
  expect(findingOf('public-url')).toMatchObject(finding('ok', `Cloakroom responds at ${testApp.origin}.`));
  expect(await testApp.redis.dbsize()).toBe(before);
});

test.each([{ CLIENT_SECRET: 'a-wrong-secret' }, { CLIENT_ID: 'another-app' }])(
  'with %j, the doctor reports a problem with the credentials',
  async (changes) => {
    const findingOf = await runDoctor({ ...env, ...changes });
    expect(findingOf('service-credentials')).toMatchObject(finding('problem', 'does not know the app'));
    expect(findingOf('service-token-endpoint').status).toBe('ok');
  },
);

test('the doctor reports an unregistered redirect URI and shows the URI to register', async () => {
  const findingOf = await runDoctor({ ...env, PUBLIC_URL: 'https://app.example.com' });
  expect(findingOf('service-redirect-uri')).toMatchObject(
    finding('problem', '', 'https://app.example.com/auth/callback'),
  );
});

test('scopes that the app is not allowed to request are a problem', async () => {
  const findingOf = await runDoctor({ ...env, SCOPES: 'room:read Room:Write' });
  expect(findingOf('service-sign-in')).toMatchObject(finding('problem', 'SCOPES'));
  expect(findingOf('service-redirect-uri').status).toBe('ok');
});

const [IS_DOWN, LONG_PAGE] = ['Service Unavailable', 'Not Found. '.repeat(50_000)];
const SIGN_IN_PAGE = '<!doctype html><title>Sign in</title>';
const oauth = (error: string) => JSON.stringify({ error });

test.each([
  ['accepts any credentials', ['credentials'], 'skipped', 400, oauth('invalid_grant'), 'inconclusive'],
  ['accepts any redirect URI', ['redirect-uri'], 'skipped', 200, SIGN_IN_PAGE, '', '/auth/callback'],
  [
    'does not support refresh tokens',
    ['credentials'],
    'problem',
    400,
    oauth('unsupported_grant_type'),
    'refresh tokens',
  ],
  ['is down', ['token-endpoint', 'sign-in'], 'problem', 503, IS_DOWN, '503'],
  ['is down', ['credentials', 'redirect-uri'], 'skipped', 503, IS_DOWN],
  ['sends an OAuth error with a 500', ['token-endpoint'], 'ok', 500, oauth('invalid_client')],
  ['sends an OAuth error with a 500', ['credentials'], 'problem', 500, oauth('invalid_client')],
  ['is a different server', ['token-endpoint', 'sign-in'], 'problem', 404, LONG_PAGE, '', 'SERVICE_URL'],
  ['limits the request rate', ['token-endpoint', 'sign-in'], 'warning', 429, '{}', '429'],
] as const)('if the service %s, the checks %j have the status %s', async (...row) => {
  const [, ids, result, status, body, detail = '', remedy = ''] = row;
  respond(status, body);
  const findingOf = await runDoctor(env);
  for (const id of ids) expect(findingOf(`service-${id}`)).toMatchObject(finding(result, detail, remedy));
});

test('if the service redirects even to unregistered URIs, the doctor cannot tell whether the app’s URI is registered', async () => {
  testApp.intercept = (req, res) => {
    const uri = new URL(req.url ?? '', testApp.serviceOrigin).searchParams.get('redirect_uri');
    if (uri === null) return false;
    res.writeHead(302, { location: `${uri}?error=access_denied` }).end();
    return true;
  };
  expect((await runDoctor(env))('service-redirect-uri').status).toBe('skipped');
});

test('without CLIENT_SECRET, the doctor still runs the other service checks', async () => {
  const findingOf = await runDoctor({ ...env, CLIENT_SECRET: '' });
  expect(findingOf('service-credentials').status).toBe('skipped');
  for (const id of ['service-token-endpoint', 'service-redirect-uri'])
    expect(findingOf(id).status).toBe('ok');
});

test('an unreachable service is reported as one problem, and the other service checks are skipped', async () => {
  const SERVICE_URL = `http://127.0.0.1:${await freePort()}`;
  const findingOf = await runDoctor({ ...env, SERVICE_URL });
  expect(findingOf('service-reachable')).toMatchObject(
    finding('problem', `${SERVICE_URL} refuses connections.`),
  );
  expect(findingOf('service-token-endpoint').status).toBe('skipped');
});

/** Returns the doctor's finding on whether this service is reachable. */
async function reach(SERVICE_URL: string): Promise<string> {
  const findingOf = await runDoctor({ ...env, SERVICE_URL });
  return findingOf('service-reachable').detail;
}

test('a host name that DNS cannot resolve is a problem', async () => {
  expect(await reach('https://service.invalid')).toMatch(/can’t be (?:found|looked up)/);
});

test('the doctor gives up on a service that does not accept connections or never responds', async () => {
  await using unresponsive = await startUnresponsivePort();
  await using silent = await startTcpServer(() => {});
  const [ofUnresponsive, ofSilent] = await Promise.all(
    [unresponsive, silent].map(async ({ port }) => reach(`http://127.0.0.1:${port}`)),
  );
  expect(ofUnresponsive).toContain('did not accept the connection in time');
  expect(ofSilent).toContain('accepts the connection but does not respond');
});

test.each([
  ['does not use TLS', 'https', 'HTTP/1.1 400 \r\n\r\n'],
  ['responds, but not with HTTP', 'http', 'SSH-2.0-OpenSSH_9.6\r\n'],
])('a port that %s is a problem', async (words, scheme, greeting) => {
  await using server = await startTcpServer((socket) => socket.end(greeting));
  expect(await reach(`${scheme}://127.0.0.1:${server.port}`)).toContain(words);
});

test('the doctor sends secrets to another host over plain HTTP only if ALLOW_INSECURE_SERVICE is set', async () => {
  const insecure = { ...env, SERVICE_URL: 'http://service.invalid' };
  const refused = await runDoctor(insecure);
  expect(refused('variable:SERVICE_URL').status).toBe('problem');
  expect(refused('service-reachable').status).toBe('skipped');
  const allowed = await runDoctor({ ...insecure, ALLOW_INSECURE_SERVICE: 'true' });
  expect(allowed('service-reachable').status).toBe('problem');
});

test('the doctor warns about a different server at PUBLIC_URL', async () => {
  respond(200, '<h1>It works!</h1>');
  const findingOf = await runDoctor({ ...env, PUBLIC_URL: testApp.serviceOrigin });
  expect(findingOf('public-url').status).toBe('warning');
});

test('the doctor does not warn if there is no server or only a proxy at PUBLIC_URL, because Cloakroom may not be running yet', async () => {
  const nothing = await runDoctor({ ...env, PUBLIC_URL: 'http://localhost:1' });
  expect(nothing('public-url').status).toBe('skipped');
  respond(502, 'Bad Gateway');
  const proxy = await runDoctor({ ...env, PUBLIC_URL: testApp.serviceOrigin });
  expect(proxy('public-url').status).toBe('skipped');
});
