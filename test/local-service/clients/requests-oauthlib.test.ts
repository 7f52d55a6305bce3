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
  addressesOf,
  allowAt,
  expectWholeFlow,
  signIn,
  type ApiResponse,
  type OAuthClient,
} from './whole-flow.ts';

const fixture = useFixture(startServiceFixture);
const SCRIPT = fileURLToPath(new URL('requests-oauthlib.py', import.meta.url));

type PythonClient = OAuthClient & AsyncDisposable;

/** requests-oauthlib in a process of its own. Steps that the library refuses reject with its OAuth error. */
function startPythonClient(server: Server, credentials: 'body' | 'basic'): PythonClient {
  const app = JSON.stringify({ ...APP, ...addressesOf(server) });
  const child = spawn(DEBIAN_PYTHON, [SCRIPT, credentials, app], {
    // Otherwise the library takes no http address.
    env: { OAUTHLIB_INSECURE_TRANSPORT: '1', NO_PROXY: '127.0.0.1' },
  });
  child.stdin.on('error', () => {}); // where it has ended, its complaint says why
  const exit = once(child, 'exit');
  const complaint = text(child.stderr);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();

  const ask = async (step: string, argument: string | null = null): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify([step, argument])}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error(`It ended: ${await complaint}`);
    const outcome = JSON.parse(value) as { refused?: string } | null;
    if (outcome?.refused !== undefined) throw new Error(outcome.refused);
    return outcome;
  };
  return {
    authorizationUrl: async () => String(await ask('authorization_url')),
    takeCallback: async (callback) => void (await ask('take_callback', callback.href)),
    get: async (url) => (await ask('get', url)) as ApiResponse,
    refresh: async () => void (await ask('refresh')),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exit;
    },
  };
}

const strict = useFixture(async () => fixture.start());

const [describeIfInstalled, remark] = hasRequestsOauthlib()
  ? ([describe, ''] as const)
  : ([describe.skip, ' (skipped: python3-requests-oauthlib is not installed)'] as const);

describeIfInstalled(`requests-oauthlib${remark}`, () => {
  test('with include_client_id goes the whole way', async () => {
    await using client = startPythonClient(strict, 'body');
    await expectWholeFlow(client, fixture, strict);
  });

  test('as it comes (HTTP Basic) is refused, but for the compatibility switch', async () => {
    await using refused = startPythonClient(strict, 'basic');
    await expect(signIn(refused)).rejects.toThrow('invalid_client');
    const compat = await fixture.start({ compat: true });
    await using client = startPythonClient(compat, 'basic');
    await expectWholeFlow(client, fixture, compat);
  });

  test('takes no callback with another’s state', async () => {
    await using other = startPythonClient(strict, 'body');
    await using client = startPythonClient(strict, 'body');
    await client.authorizationUrl();
    const callback = await allowAt(await other.authorizationUrl());
    await expect(client.takeCallback(callback)).rejects.toThrow('mismatching_state');
  });
});
