import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { DEBIAN_PYTHON } from '../../../scripts/requests-oauthlib.mjs';
import { APP, addressesOf } from './whole-flow.ts';
import type { ApiAnswer, OAuthClient } from './whole-flow.ts';

const SCRIPT = fileURLToPath(new URL('requests-oauthlib.py', import.meta.url));

type PythonClient = OAuthClient & AsyncDisposable;

/** requests-oauthlib in a process of its own. Steps that the library refuses reject with its OAuth error. */
export function startPythonClient(server: Server, credentials: 'body' | 'basic'): PythonClient {
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
    get: async (url) => (await ask('get', url)) as ApiAnswer,
    renew: async () => void (await ask('renew')),
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      await exit;
    },
  };
}
