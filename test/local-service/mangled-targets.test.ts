import type { Server } from 'node:http';
import { afterAll, beforeAll, test } from '@jest/globals';
import { expectApiError } from '../support/local-service/clean-answers.ts';
import { idsOn, walk } from '../support/local-service/list-walk.ts';
import { callRaw } from '../support/local-service/raw-call.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { newTokens } from '../support/local-service/token-calls.ts';
import { fc, times } from '../support/properties.ts';
import { TARGET_BYTE, mangled } from './mangling.ts';

const API = '/api/public/v1';

let bench: Bench;
let service: Server;
let token: string;
let ids: string[];
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
  token = (await newTokens(service)).access_token;
  ids = idsOn(await walk(service, '/workspaces', token)).map(String);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const getRaw = (target: string) =>
  callRaw(service, `GET ${API}${target}`, [`authorization: Bearer ${token}`]);

/** What the path names, by its letters; only the id of a workspace may be percent-encoded. */
function judge(path: string): 'something' | 'no workspace' | 'unreadable' | 'nothing' {
  if (/^\/workspaces$|^\/authorization\/oauth2\/(?:token)?$/.test(path)) return 'something';
  const id = /^\/workspaces\/(?<id>[^/]+)(?:\/rooms|\/murals)?$/.exec(path)?.groups?.['id'];
  if (id === undefined) return 'nothing';
  try {
    return ids.includes(decodeURIComponent(id)) ? 'something' : 'no workspace';
  } catch {
    return 'unreadable';
  }
}

const pathOf = (target: string) => target.split('?', 1)[0] ?? '';

async function expectNothingAt(target: string): Promise<void> {
  const answer = await getRaw(target);
  const verdict = judge(pathOf(target));
  if (verdict === 'unreadable') expectApiError(answer, 400, 'REQUEST_INVALID');
  else expectApiError(answer, 404, verdict === 'nothing' ? 'PATH_NOT_FOUND' : 'WORKSPACE_NOT_FOUND');
}

const VALID = [
  '/workspaces',
  '/workspaces/ID',
  '/workspaces/ID/rooms',
  '/workspaces/ID/murals',
  '/authorization/oauth2/',
  '/authorization/oauth2/token',
];

test.each(VALID)('%s with any one place mangled is no path of the API', async (path) => {
  const valid = path.replace('ID', ids[0] ?? '');
  const target = mangled(valid, TARGET_BYTE).filter((text) => judge(pathOf(text)) !== 'something');
  await fc.assert(fc.asyncProperty(target, expectNothingAt), {
    numRuns: times(60),
    examples: [`${valid}/`, `/${valid}`, `${valid}%2f`, `${valid}/.`].map((text) => [text]),
  });
});

test('nothing that a proxy might resolve or decode leads to a list', async () => {
  const piece = fc.constantFrom(
    ...[
      '/',
      '//',
      '.',
      '..',
      '%2e',
      '%2E%2e',
      '%2f',
      '%5c',
      '\\',
      ';',
      '%3b',
      '%25',
      '%252f',
      '%00',
      '%0d%0a',
    ],
    ...['%', '%zz', '%ff', '%c0%ae', '%f0%9f%98%80', 'workspaces', 'rooms', 'Workspaces', '~', '*', ':id'],
  );
  const path = fc
    .array(piece, { maxLength: 12 })
    .map((pieces) => pieces.join(''))
    .filter((text) => judge(text) !== 'something');
  await fc.assert(fc.asyncProperty(path, expectNothingAt), { numRuns: times(150) });
});

test('a target with a fragment is refused: it has none, and what stands before is another path', async () => {
  expectApiError(await getRaw('/workspaces#fragment'), 400, 'REQUEST_INVALID');
});
