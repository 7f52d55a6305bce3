import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { DEBIAN_PYTHON, hasRequestsOauthlib } from '../../../scripts/requests-oauthlib.mjs';
import { useFixture } from '../../support/fixtures.ts';
import { startServiceFixture } from '../../support/local-service/fixture.ts';
import {
  APP,
  endpointUrls,
  authorizeApp,
  expectOAuthFlow,
  signIn,
  type ApiResponse,
  type OAuthClient,
} from './oauth-flow.ts';

const fixture = useFixture(startServiceFixture);
const SCRIPT = fileURLToPath(new URL('requests-oauthlib.py', import.meta.url));

type PythonClient = OAuthClient & AsyncDisposable;

/** Starts requests-oauthlib in its own process. If a step fails, its promise rejects with the library's OAuth error. */
function startPythonClient(server: Server, credentials: 'body' | 'basic'): PythonClient {
  const app = JSON.stringify({ ...APP, ...endpointUrls(server) });
  const child = spawn(DEBIAN_PYTHON, [SCRIPT, credentials, app], {
    // The library refuses http URLs unless OAUTHLIB_INSECURE_TRANSPORT is set.
    env: { OAUTHLIB_INSECURE_TRANSPORT: '1', NO_PROXY: '127.0.0.1' },
  });
  child.stdin.on('error', () => {}); // stderr contains the reason
  const exit = once(child, 'exit');
  const errors = text(child.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  const run = async (step: string, argument: string | null = null): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify([step, argument])}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error(`requests-oauthlib ended: ${await errors}`);
    const outcome = JSON.parse(value) as { refused?: string } | null;
    if (outcome?.refused !== undefined) throw new Error(outcome.refused);
    return outcome;
  };
  return {
    authorizationUrl: async () => String(await run('authorization_url')),
    handleCallback: async (callback) => void (await run('take_callback', callback.href)),
    get: async (url) => (await run('get', url)) as ApiResponse,
    refresh: async () => void (await run('refresh')),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exit;
    },
  };
}

const strict = useFixture(async () => fixture.start());

const [describeIfInstalled, note] = hasRequestsOauthlib()
  ? ([describe, ''] as const)
  : ([describe.skip, ' (skipped: python3-requests-oauthlib is not installed)'] as const);

describeIfInstalled(`requests-oauthlib${note}`, () => {
  test('completes the whole flow with include_client_id', async () => {
    await using client = startPythonClient(strict, 'body');
    await expectOAuthFlow(client, fixture, strict);
  });

  test('needs compatibility mode by default (HTTP Basic)', async () => {
    await using refused = startPythonClient(strict, 'basic');
    await expect(signIn(refused)).rejects.toThrow('invalid_client');
    const compat = await fixture.start({ compat: true });
    await using client = startPythonClient(compat, 'basic');
    await expectOAuthFlow(client, fixture, compat);
  });

  test('refuses a callback with the state of another client', async () => {
    await using other = startPythonClient(strict, 'body');
    await using client = startPythonClient(strict, 'body');
    await client.authorizationUrl();
    const callback = await authorizeApp(await other.authorizationUrl());
    await expect(client.handleCallback(callback)).rejects.toThrow('mismatching_state');
  });
});
