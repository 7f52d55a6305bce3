import { readdir } from 'node:fs/promises';
import { expect, test } from '@jest/globals';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { startProgram } from '../../support/programs.ts';
import { endpointUrls } from './oauth-flow.ts';

const { fixture, service: strict } = useLocalService();

/** Runs the script from the documentation. */
async function runScript(env: Readonly<Record<string, string>> = {}) {
  const { origin } = endpointUrls(strict);
  await using script = await startProgram('docs/examples/flow-with-curl.sh', [], {
    SERVICE_URL: origin,
    ...env,
  });
  const { code, output } = await script.waitForExit();
  return { code, lines: output.trimEnd().split('\n'), leftBehind: await readdir(script.folder) };
}

test('the curl script completes the whole flow', async () => {
  expect(await runScript()).toEqual({
    code: 0,
    lines: [
      'demo has signed in and allowed demo-app.',
      'Exchanged the code for tokens.',
      'Listed 137 workspaces (pages: 3).',
      'Refreshed the access token.',
      'Listed 137 workspaces (pages: 3).',
    ],
    leftBehind: [],
  });
});

test('the curl script handles an empty list', async () => {
  const service = await fixture.start({ workspaces: 0 });
  const { code, lines } = await runScript({ SERVICE_URL: endpointUrls(service).origin });
  expect(code).toBe(0);
  expect(lines.at(-1)).toBe('Listed 0 workspaces (pages: 1).');
});

const failures: [string, Readonly<Record<string, string>>, RegExp, string][] = [
  ['no service', { SERVICE_URL: 'http://127.0.0.1:1' }, /^curl: .*connect/, 'open the sign-in page'],
  ['an unknown app', { CLIENT_ID: 'other' }, /^The response was 400/, 'open the sign-in page'],
  ['an unknown scope', { SCOPES: 'other:read' }, /error=invalid_scope/, 'open the sign-in page'],
  ['a wrong password', { PASSWORD: 'other' }, /^The response was 401/, 'sign in as demo'],
  ['a wrong secret', { CLIENT_SECRET: 'other' }, /"invalid_client"/, 'exchange the code'],
  ['an invalid limit', { LIMIT: '0' }, /"LIMIT_INVALID"/, 'list the workspaces'],
];
test.each(failures)('the curl script with %s names the failed step', async (_name, env, reason, step) => {
  const { code, lines, leftBehind } = await runScript(env);
  expect(code).not.toBe(0);
  expect(lines.at(-1)).toBe(`flow-with-curl.sh: could not ${step}`);
  expect(lines.join('\n')).toMatch(new RegExp(reason.source, 'm'));
  expect(leftBehind).toEqual([]);
});
